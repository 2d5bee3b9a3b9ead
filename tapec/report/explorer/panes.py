"""Write what the panes of the page show of one step: picture, text, what changed, and code."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from html import escape

from tapec.ir import CONSTANT, Graph
from tapec.ir.text.printer import print_graph
from tapec.report import tuning
from tapec.report.explorer.lines import attribute, code_line, pre
from tapec.report.explorer.steps import Step
from tapec.report.graph_picture.picture_layout import Box, Frame, Mark, layout
from tapec.report.graph_picture.svg import draw
from tapec.report.highlight import html_lines
from tapec.report.line_profile import LineTimes
from tapec.report.pass_stages import graph_diff
from tapec.report.units import time_text

__all__ = ["changes", "code", "graph_text", "picture"]


def picture(step: Step, limit: int, marks: Sequence[Mark]) -> str:
    """Draw a graph; boxes tell the lines that went into them, and frames those of all their boxes."""

    def attributes(item: Box | Frame) -> str:
        if isinstance(item, Frame):
            return attribute("data-at", [_key_of(item)] if item.line else [])
        nodes = item.members or item.nodes
        some = nodes[:: 1 + len(nodes) // tuning.ROUNDS_ASKED_MAX]
        times = Counter([line for n in some for line in step.lines_of(n)])
        lines = [line for line, n in times.items() if 4 * n >= len(some)]  # not of the first round alone
        found = attribute("data-at", lines)
        if item.kind in ("output", "test", "input"):
            return found
        told = {"op": nodes[0].op.name, "type": str(nodes[0].type), "count": len(nodes), "name": nodes[0].name}
        if nodes[0].op is CONSTANT:
            told["value"] = repr(nodes[0].value)[:200]
        if nodes[0].bodies:
            told["value"] = "\n".join(map(str, nodes[0].bodies))[:600]
        return f'{found} tabindex="-1" data-box="{escape(json.dumps({k: v for k, v in told.items() if v}))}"'

    return f'<div class="picture">{draw(layout(step.graph, limit, marks), step.name, False, attributes)}</div>'


def _key_of(frame: Frame) -> str:
    return str(frame.line).replace(" ", "")


def graph_text(step: Step) -> str:
    """Write the text of a graph, of a long one its beginning."""
    graph, most = step.graph, tuning.PANE_MAX_LINES - 4  # there are lines around the operations
    more = len(graph.nodes) - most
    shown = Graph(graph.inputs, graph.nodes[:most], graph.outputs if more <= 0 else (), graph.name)
    marked = print_graph(shown, lambda node: f"at {' '.join(step.lines_of(node))}" if step.lines_of(node) else "")
    lines = marked.split("\n")
    if more > 0:
        lines[-2:] = [f"  … {more} more operations", "}"]
    places = [re.search(r"  # at (.*)$", line) for line in lines]
    plain = [re.sub(r"  # at .*$", "", line) for line in lines]
    shown_lines = html_lines("\n".join(plain), "graph")
    return pre([code_line(text, place.group(1).split() if place else ()) for text, place in zip(shown_lines, places)])


def changes(before: Graph, after: Graph) -> str:
    """Tell what a step changed: line by line, or, of a large graph, how many operations of each kind there are."""
    if len(before.nodes) + len(after.nodes) <= tuning.CHANGES_MAX_NODES:
        text = graph_diff(before, after) or "nothing changed"
    else:
        old, new = (Counter([n.op.name for n in g.nodes]) for g in (before, after))
        text = "\n".join([_counted(name, old[name], new[name]) for name in sorted({*old, *new})])
    return pre([code_line(line) for line in html_lines(text.rstrip("\n"), "diff")])


def _counted(name: str, before: int, after: int) -> str:
    sign = " " if before == after else "-" if before > after else "+"
    return f"{sign} {name}: {before} → {after}" if before != after else f"{sign} {name}: {before}"


def code(source: str, lines: dict[int, tuple[str, ...]], times: LineTimes | None) -> str:
    """Write generated code; each line tells the lines of the user's that went into it."""
    text = html_lines(source.rstrip("\n"))
    width = len(str(len(text)))
    rows = [
        code_line(content, lines.get(k, ()), f"{k:>{width}}", before="" if times is None else _time(times, k))
        for k, content in enumerate(text, start=1)
    ]
    return pre(rows)


def _time(times: LineTimes, line: int) -> str:
    if line not in times.seconds:
        return "<b></b>"
    share = 100 * times.share(line)
    return f'<b style="--share:{share:.0f}%" title="{share:.1f} % of the call">{time_text(times.seconds[line])}</b>'
