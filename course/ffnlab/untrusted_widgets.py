"""A notebook that somebody else has saved is paper: opened in JupyterLab, it runs nothing of its author's.

JupyterLab restores saved widgets whether a notebook is trusted or not, and a saved anywidget brings its own JavaScript, which anywidget imports. That can start
a kernel with the reader's token. So the state of widgets is left out, unless the notebook's signature is this computer's. (Its cells say nothing: where no
cell has an output, all are trusted.) Jupyter's server loads this module where etc/jupyter/jupyter_server_config.d/ffnlab.json says so: start.py writes it into
its environment, and docs/jupyterhub.md for a whole computer.
"""

from __future__ import annotations

from typing import Any


def leave_out_widgets(managers: type[Any]) -> None:
    """Have contents managers of Jupyter's leave out the widgets of notebooks that this computer has not signed. managers: the class of which they all are."""
    mark_trusted_cells = managers.mark_trusted_cells

    def mark(self: Any, nb: Any, path: str = "") -> None:
        if "widgets" in nb.metadata and not self.notary.check_signature(nb):
            del nb.metadata["widgets"]
        mark_trusted_cells(self, nb, path)

    managers.mark_trusted_cells = mark  # called for each notebook that is opened


def _jupyter_server_extension_points() -> list[dict[str, str]]:
    return [{"module": "ffnlab.untrusted_widgets"}]


def _load_jupyter_server_extension(app: Any) -> None:
    # An extension may put another manager in the place of the server's, as jupytext does: of this class are all of them.
    leave_out_widgets(next(kind for kind in type(app.contents_manager).__mro__ if kind.__name__ == "ContentsManager"))
