"""Show graphs, functions, tapes, explanations, tensors and source in notebooks, as self-contained HTML and SVG."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from tapec.ir import Graph
from tapec.report.graph_picture.svg import svg
from tapec.report.highlight import CSS, html

__all__ = ["explanation_html", "function_html", "graph_svg", "source_html", "tape_html", "tensor_html"]

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


def tape_html(tape: Any) -> str:
    """A tape: its state, the operations that it has recorded, and the variables that it watches."""
    counts = Counter([entry[0].name for entry in tape.log.records])
    head = f'<div style="{_MONO}">{escape(repr(tape)[1:-1])}</div>'
    watched = [(v.name, "×".join(map(str, v.shape)) or "scalar", v.dtype.name) for v in tape.watched_variables()]
    variables = _table(("watched", "shape", "dtype"), watched) if watched else ""
    return f"{head}{variables}{_table(('operation', 'times'), counts.most_common()) if counts else ''}"


def explanation_html(found: Any) -> str:
    """Return what `f.explain` tells, in parts that can be folded."""
    parts = [
        ("arguments", found.signature),
        ("gradients", found.gradients),
        ("captured, read anew at each call", found.captured),
        ("written into the code", found.literals),
        *_paths(found.paths),
        ("recorded anew at each call, because", [found.recorded_anew] if found.recorded_anew else []),
        ("last compiled because", [found.compiled_because] if found.compiled_because else []),
        ("not compared with plain NumPy, because", [found.unchecked] if found.unchecked else []),
        ("notes", found.notes),
    ]
    cost = _table(("cost", ""), found.cost.items()) if found.cost else ""
    folds = "".join([_fold(title, lines) for title, lines in parts if lines])
    return f'<div style="{_MONO}"><b>{escape(found.name)}</b>{folds}{cost}</div>'


def _paths(paths: Sequence[dict[str, Any]]) -> list[tuple[str, list[str]]]:
    """Return the title and the tests of each path, where there are branches."""
    if len(paths) == 1 and not paths[0]["guards"]:
        return []
    taken = [" (taken by this call)" if path["taken"] else "" for path in paths]
    return [(f"path {k + 1} of {len(paths)}{taken[k]}", path["guards"] or ["no test"]) for k, path in enumerate(paths)]


def _fold(title: str, lines: Sequence[str]) -> str:
    items = "".join([f"<div>{escape(line)}</div>" for line in lines])
    return (
        f'<details open="open"><summary>{escape(title)}</summary><div style="margin-left: 2em">{items}</div></details>'
    )


def _table(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    cells = "".join([f"<th>{escape(h)}</th>" for h in head])
    body = "".join(["<tr>" + "".join([f"<td>{escape(str(c))}</td>" for c in row]) + "</tr>" for row in rows])
    return f'<table style="{_MONO}"><tr>{cells}</tr>{body}</table>'
