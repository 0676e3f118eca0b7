"""Lays a torch.py, an ffnlab.py, a sitecustomize.py and an nbgrader_config.py beside its notebook."""

from attacks import Attack

FORGED = "raise SystemExit('an attack was imported')\n"

attack = Attack(
    says="is not right",
    files={
        "torch.py": FORGED,
        "ffnlab.py": FORGED,
        "sitecustomize.py": FORGED,
        "nbgrader_config.py": "c = get_config()\nc.ClearSolutions.code_stub = {'python': '2.0'}\n",
        "autograder.py": FORGED,
    },
)
