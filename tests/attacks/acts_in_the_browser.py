"""Displays what a browser would act on: scripts, links to them, widgets, formulas with addresses"""

from attacks import Attack

attack = Attack(
    says="everything at once",
    answer="""
from IPython.display import SVG, Javascript, Latex, Markdown, display

display(Javascript("alert(1)"))
display(Markdown("[x](javascript:alert(2)) <img src=x onerror=alert(3)> ![y](https://example.org/z.png)"))
display(Latex(r"$\\href{javascript:alert(4)}{x}$"))
display(SVG("<svg xmlns='http://www.w3.org/2000/svg'><script>alert(5)</script></svg>"))
display({"application/vnd.jupyter.widget-view+json": {"model_id": "6"}}, raw=True)

def hello_shape(x):
    raise ValueError("everything at once <script>alert(7)</script>")
""",
    twin="""
from IPython.display import Latex, Markdown, display

display(Markdown("**so** `x[0]` is [described](https://pytorch.org)"), Latex(r"$x \\in \\mathbb{R}^n$"))

def hello_shape(x):
    return tuple(x.shape)
""",
)
