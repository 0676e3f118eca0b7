"""Attaches pictures that are none: deep, many, named like each other, each mentioned again and again"""

from test_program import place

from attacks import Attack, Notebook

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="


def deep(levels: int) -> object:
    found: object = PIXEL
    for _ in range(levels):
        found = [found]
    return found


def attached(notebook: Notebook, attachments: dict[str, object], mentions: int) -> Notebook:
    cell = notebook["cells"][place(notebook, "hello_shape")]
    cell["source"] += "".join(f"\n# ![](attachment:{name})" for name in list(attachments)[:5] * mentions)
    cell["attachments"] = attachments
    return notebook


attack = Attack(
    says="is not right",
    submission=lambda notebook: attached(
        notebook,
        {
            "deep": {"image/png": deep(900)},
            "many": {f"image/{n}": PIXEL for n in range(20_000)},
            "none": {"image/png": None, "image/gif": 5},
            **{str(n): {"image/png": "A" * 1_000} for n in range(1_000)},
            "odd": ["image/png"],
        },
        2_000,
    ),
    twin_submission=lambda notebook: attached(notebook, {"dot": {"image/png": PIXEL}}, 2),
)
