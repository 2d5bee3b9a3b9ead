"""Write one page with the user's source, the graph and the generated code side by side, through every pass.

The page is one file and needs no network. Whatever belongs to a line of the user's carries its name, `model.py:7`, in
`data-at`; a short script lights up what carries the same name, and shows the panels of the pass that the slider is at.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from tapec.errors import place_name
from tapec.ir import Graph
from tapec.ir.text.printer import print_graph
from tapec.report import tuning
from tapec.report.graph_picture.picture_layout import layout
from tapec.report.graph_picture.svg import HEAD, STYLE, draw
from tapec.report.graph_picture.user_lines import user_line_of
from tapec.report.highlight import CSS, html_lines
from tapec.report.line_profile import LineTimes, line_times
from tapec.report.pass_stages import Stage, graph_diff, stages
from tapec.report.units import bytes_text, count_text, time_text
from tapec.runtime.compile import CompiledGraph, Options

__all__ = ["explore_page"]

Generated = tuple[Callable[..., Any], str, Sequence[Any]]


_HERE = Path(__file__).parent
_COMMENT = re.compile(r"#.*$")
_LINE = re.compile(r"(:|, line )\d+$")
_PLACE = re.compile(r"In \[\d+\], line \d+|[^\s:#,]+:\d+\b")


def explore_page(
    name: str,
    forward: Graph,
    gradient: Graph,
    source: str,
    generated: Generated | None = None,
    limit: int | None = None,
) -> str:
    """The page. `generated` (function, source of its module, values) is run to measure its lines."""
    limit = tuning.PAGE_PICTURE_MAX_NODES if limit is None else limit
    found = list(stages(forward, gradient))
    times = line_times(*generated) if generated is not None else None
    panels: list[tuple[Stage, str, LineTimes | None]] = []
    steps = []
    for k, stage in enumerate(found):
        if stage.changed or not panels:
            last = k == len(found) - 1 or not any(s.changed for s in found[k + 1 :])
            code = source if last else CompiledGraph(stage.graph, Options(name, optimize=False)).code.source
            panels.append((stage, code, times if last else None))
        steps.append({"name": stage.name, "facts": facts(stage), "panel": len(panels) - 1})
    body = _page_body(name, steps, panels, found, limit)
    style = (_HERE / "explore.css").read_text(encoding="utf-8")
    script = (_HERE / "explore.js").read_text(encoding="utf-8")
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{html.escape(name)}</title>\n'
        f'<meta name="viewport" content="width=device-width">\n<style>\n{style}{STYLE}\n{CSS}\n</style>\n</head>\n'
        f'<body class="fit">\n{body}\n<script>\n{script}</script>\n</body>\n</html>\n'
    )


def facts(stage: Stage) -> str:
    """Return one line about a stage."""
    cost = stage.cost
    parts = [
        f"{count_text(cost.nodes)} operations",
        f"{count_text(cost.flops)} flops",
        f"{bytes_text(cost.bytes)} moved",
        f"{bytes_text(cost.peak)} at most",
    ]
    if stage.seconds:
        parts.append(f"pass took {time_text(stage.seconds)}")
    if not stage.changed:
        parts.append("nothing to do")
    parts += [f"{rule} × {n}" if n > 1 else rule for rule, n in stage.fired.items()]
    return " · ".join(parts)


# ---------------------------------------------------------------------------------------------------------------
# parts of the page
# ---------------------------------------------------------------------------------------------------------------
def _page_body(name: str, steps: list[dict[str, Any]], panels: list[Any], found: list[Stage], limit: int) -> str:
    last = len(steps) - 1
    user = user_source(stage.graph for stage, _, _ in panels)
    pictures = [f'<div class="picture">{draw(layout(s.graph, limit), s.name, alone=False)}</div>' for s, _, _ in panels]
    texts = [_pre(graph_lines(s.graph)) for s, _, _ in panels]
    codes = [_pre(code_lines(code, times)) for _, code, times in panels]
    diffs = [
        f'<div data-diff="{k}" hidden>{_pre(_lines(graph_diff(a.graph, b.graph) or "nothing changed", "diff"))}</div>'
        for k, (a, b) in enumerate(pairwise(found), start=1)
    ]
    return f"""\
<svg width="0" height="0" style="position:absolute" aria-hidden="true"><defs>{HEAD}</defs></svg>
<script type="application/json" id="steps">{json.dumps(steps).replace("<", "&lt;")}</script>
<header>
<h1>{html.escape(name)}</h1>
<label>pass <input id="slider" type="range" min="0" max="{last}" value="{last}"> <span id="stage"></span></label>
<span class="facts" id="facts"></span>
</header>
<main>
<section><div class="bar"><h2>your source</h2></div><div class="pane" id="user">{user}</div></section>
<section><div class="bar"><h2>graph</h2>
<button data-shows="picture">picture</button><button data-shows="text">text</button>
<button data-shows="changes">changes</button><button id="fit" aria-pressed="true">fit</button></div>
<div class="pane" data-view="picture">{_panels(pictures)}</div>
<div class="pane" data-view="text" hidden>{_panels(texts)}</div>
<div class="pane" data-view="changes" hidden>{"".join(diffs)}</div></section>
<section><div class="bar"><h2>generated code</h2></div><div class="pane" id="code">{_panels(codes)}</div></section>
</main>"""


def _panels(contents: Iterable[str]) -> str:
    return "".join(f'<div data-panel="{k}" hidden>{text}</div>' for k, text in enumerate(contents))


def _pre(lines: Sequence[str]) -> str:
    more = len(lines) - tuning.PANE_MAX_LINES
    shown = [*lines[: tuning.PANE_MAX_LINES], _line(f"… {more} more lines")] if more > 0 else lines
    return f"<pre>{''.join(shown)}</pre>"


def _lines(text: str, language: str) -> list[str]:
    return [_line(line) for line in html_lines(text.rstrip("\n"), language)]


def _line(content: str, at: str = "", gutter: str = "") -> str:
    mark = f' data-at="{html.escape(at)}"' if at else ""
    return f'<span class="ln"{mark}>{gutter}{content or " "}</span>'


def user_source(graphs: Iterable[Graph]) -> str:
    """The functions of the user that made the nodes of these graphs, file by file."""
    made: dict[str, set[int]] = {}
    spans: dict[str, set[int]] = {}
    for graph in graphs:
        for node in graph.nodes:
            line = user_line_of(node)
            if line is not None:
                made.setdefault(line.file, set()).add(line.number)
                spans.setdefault(line.file, set()).update(_span(node.origin[0]))
    return "".join(_file(file, sorted(spans[file]), made[file]) for file in sorted(made))


def _span(code: Any) -> range:
    """The lines of a function; of a module, those around nothing: lines that made nodes are enough."""
    if code.co_name == "<module>":
        return range(0)
    return range(code.co_firstlineno, max(line for _, _, line in code.co_lines() if line) + 1)


def _file(file: str, span: list[int], made: set[int]) -> str:
    import linecache

    numbers = sorted({*span, *made})
    text = [linecache.getline(file, n).rstrip("\n") for n in numbers]
    shown = html_lines("\n".join(text)) if text else []
    rows = [f'<div class="file">{html.escape(_LINE.sub("", place_name(file, 1)))}</div>']
    lines, before = [], numbers[0] - 1
    for n, content in zip(numbers, shown):
        if n != before + 1:
            lines.append(_line("", gutter="<i>⋮</i>"))
        at = _key(place_name(file, n)) if n in made else ""
        lines.append(_line(content, at, f"<i>{n}</i>"))
        before = n
    return "".join([*rows, _pre(lines)])


def graph_lines(graph: Graph) -> list[str]:
    """The graph's text; each operation carries its user line."""
    marked = print_graph(graph, lambda node: f"at {user_line_of(node)}" if user_line_of(node) else "")
    places = [re.search(r"  # at (.*)$", line) for line in marked.split("\n")]
    plain = [re.sub(r"  # at .*$", "", line) for line in marked.split("\n")]
    shown = html_lines("\n".join(plain), "graph")
    return [_line(content, _key(place.group(1)) if place else "") for content, place in zip(shown, places)]


def _key(place: str) -> str:
    """Return the name of a line in the page, where names are parted by blanks."""
    return place.replace(" ", "")


def code_lines(source: str, times: LineTimes | None) -> list[str]:
    """Return generated code; a line carries the user lines of its comment, or else those of the line before it."""
    lines, at = [], ""
    plain = source.rstrip("\n").split("\n")
    for k, (text, content) in enumerate(zip(plain, html_lines("\n".join(plain))), start=1):
        found = [_key(p) for p in _PLACE.findall(m.group())] if (m := _COMMENT.search(text)) else []
        inside = text.startswith((" ", "\t"))
        at = " ".join(dict.fromkeys(found)) if found else at if inside else ""
        lines.append(_line(content, at, "" if times is None else _gutter(times, k)))
    return lines


def _gutter(times: LineTimes, line: int) -> str:
    if line not in times.seconds:
        return "<b></b>"
    share = 100 * times.share(line)
    return f'<b style="--share:{share:.0f}%" title="{share:.1f} % of the call">{time_text(times.seconds[line])}</b>'
