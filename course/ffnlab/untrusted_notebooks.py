"""A notebook that somebody else has saved is paper: opened in JupyterLab, it runs nothing of its author's, reads no file and writes none.

Jupyter trusts a notebook whose signature is this computer's. But some things happen whether it is trusted or not:

- JupyterLab restores saved widgets, and a saved anywidget brings its own JavaScript, which anywidget imports. That can start a kernel with the reader's token.
- Some kinds of output are fetched and drawn by programs in the page. A Vega chart loads any address of the server's, files too, with the reader's rights.
- jupytext writes a notebook into other files, and the notebook itself says into which. JupyterLab's autosave is enough.

So widgets, and all outputs but texts and pictures, are left out unless the notebook is signed. (Its cells say nothing: where no cell has an output, all are
trusted.) jupytext's part of Jupyter's server is not loaded: the course uses its library alone.
Jupyter's server loads this module where etc/jupyter/jupyter_server_config.d/ffnlab.json says so: start.py writes it into its environment, and
docs/jupyterhub.md for a whole computer.
"""

from __future__ import annotations

from typing import Any

# What JupyterLab shows as it stands, cleaned where it is HTML.
PAPER = frozenset(
    {"text/plain", "text/html", "text/markdown", "text/latex", "image/png", "image/jpeg", "image/gif", "image/svg+xml"}
)
PAIRING = (
    "jupyterlab_jupytext"  # the server extension; this module's name comes before it, and extensions are loaded by name
)


def make_paper(nb: Any) -> None:
    """Leave in a notebook, as nbformat has it, what can be shown without acting."""
    for name in ("widgets", "jupytext"):
        nb.metadata.pop(name, None)
    for cell in nb.cells:
        for output in cell.get("outputs", ()):
            if "data" in output:
                output["data"] = {kind: content for kind, content in output["data"].items() if kind in PAPER}


def leave_out_what_acts(managers: type[Any]) -> None:
    """Have contents managers of Jupyter's make paper of notebooks that this computer has not signed. managers: the class of which they all are."""
    mark_trusted_cells = managers.mark_trusted_cells

    def mark(self: Any, nb: Any, path: str = "") -> None:
        if not self.notary.check_signature(nb):
            make_paper(nb)
        mark_trusted_cells(self, nb, path)

    managers.mark_trusted_cells = mark  # called for each notebook that is opened


def _jupyter_server_extension_points() -> list[dict[str, str]]:
    return [{"module": "ffnlab.untrusted_notebooks"}]


def _load_jupyter_server_extension(app: Any) -> None:
    pairing = app.extension_manager.extensions.get(PAIRING)
    if pairing is not None:
        pairing.enabled = False
    # An extension may put another manager in the place of the server's: of this class are all of them.
    leave_out_what_acts(next(kind for kind in type(app.contents_manager).__mro__ if kind.__name__ == "ContentsManager"))
