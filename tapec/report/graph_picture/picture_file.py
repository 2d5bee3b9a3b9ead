"""Write a graph to a file: `.svg` and `.dot` on our own, `.png` and `.pdf` with Graphviz or CairoSVG."""

from __future__ import annotations

import importlib
import os
import shutil
from pathlib import Path

from tapec.errors import TapecError
from tapec.extras import install_hint
from tapec.ir import Graph
from tapec.report.graph_picture.dot import dot
from tapec.report.graph_picture.svg import svg

__all__ = ["save_picture"]

_CONVERTED = ("png", "pdf")


def save_picture(graph: Graph, path: str | os.PathLike[str], limit: int | None = None) -> None:
    """Write the picture of a graph; the ending of the file's name says in what form."""
    path = Path(path)
    ending = path.suffix.lstrip(".").lower()
    if ending == "svg":
        path.write_text(svg(graph, limit), encoding="utf-8")
    elif ending in ("dot", "gv"):
        path.write_text(dot(graph, limit), encoding="utf-8")
    elif ending in _CONVERTED:
        path.write_bytes(_convert(graph, ending, limit))
    else:
        raise TapecError(f"{path}: a picture is a file that ends in .svg, .dot, .png or .pdf")


def _convert(graph: Graph, ending: str, limit: int | None) -> bytes:
    cairosvg = _optional("cairosvg")
    if cairosvg is not None:
        return getattr(cairosvg, f"svg2{ending}")(svg(graph, limit).encode())
    graphviz = _optional("graphviz")
    if graphviz is not None and shutil.which("dot"):
        return graphviz.Source(dot(graph, limit)).pipe(format=ending)
    raise TapecError(
        f"a .{ending} picture needs CairoSVG (`pip install cairosvg`), or Graphviz and its Python package "
        f"(`{install_hint('graphviz')}`, and the program `dot`). A .svg needs nothing: browsers and editors show it"
    )


def _optional(name: str):
    try:
        return importlib.import_module(name)
    except (ImportError, OSError):  # OSError: the package is there, the library it loads is not
        return None
