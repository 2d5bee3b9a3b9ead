"""Show graphs, compiled functions, tensors and source in notebooks, as self-contained HTML and SVG."""

from __future__ import annotations

from html import escape
from typing import Any

from tapec.ir import Graph
from tapec.report.graph_picture.svg import svg
from tapec.report.highlight import CSS, html

__all__ = ["function_html", "graph_svg", "source_html", "tensor_html"]

_MONO = "font-family: ui-monospace, Menlo, Consolas, monospace; font-size: 12px"


def graph_svg(graph: Graph) -> str:
    """The picture of a graph."""
    return svg(graph)


def source_html(source: str) -> str:
    """Return highlighted source."""
    style = f"{_MONO}; line-height: 1.5; background: #f6f8fa; color: #1f2328; padding: 8px 12px; overflow-x: auto"
    return f'<style>{CSS}</style><pre style="{style}">{html(str(source).rstrip())}</pre>'


def function_html(function: Any) -> str:
    """A compiled function: what it is, and the source compiled last, if there is any."""
    info = function.cache_info()
    head = f'<div style="{_MONO}"><b>{escape(repr(function))}</b></div>'
    last = function.last_source()
    if last is None:
        return f"{head}<div>not compiled yet: call it, or ask for <code>.source(*args)</code></div>"
    known = "1 signature" if info.size == 1 else f"{info.size} signatures"
    counts = f"{known}, {info.compilations} compiled, {info.hits} calls served"
    return f"{head}<div>{counts}; compiled last:</div>{source_html(last)}"


def tensor_html(tensor: Any) -> str:
    """A tensor or Variable: its value, shape and dtype."""
    name = getattr(tensor, "name", None)
    kind = type(tensor).__name__ + (f" <b>{escape(str(name))}</b>" if name else "")
    shape = "×".join(map(str, tensor.shape)) or "scalar"
    value = escape(str(tensor.numpy()))
    return (
        f'<div style="{_MONO}"><span style="color: #59636e">{kind} · {shape} · {tensor.dtype.name}</span>'
        f'<pre style="margin: 2px 0">{value}</pre></div>'
    )
