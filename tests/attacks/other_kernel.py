"""Asks for another kernel and another language."""

from attacks import Attack, Notebook


def in_bash(notebook: Notebook) -> Notebook:
    notebook["metadata"]["kernelspec"] = {"display_name": "Bash", "language": "bash", "name": "bash"}
    notebook["metadata"]["language_info"] = {"name": "bash"}
    return notebook


def in_another_environment(notebook: Notebook) -> Notebook:
    notebook["metadata"]["kernelspec"] = {"display_name": "torch39", "language": "python", "name": "torch39"}
    return notebook


attack = Attack(says="is not right", submission=in_bash, twin_submission=in_another_environment)
