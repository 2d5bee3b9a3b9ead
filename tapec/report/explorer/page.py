"""Put the page of `tapec explore` together: one HTML file that needs no network.

Whatever belongs to a line of the user's carries its name, `model.py:6`, in `data-at`. The script lights up what carries
the same name, and shows the panels of the step that the slider is at; it makes nothing of its own but tooltips.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from tapec.fast_namedtuple import NamedTuple
from tapec.ir import CONSTANT, INPUT, Graph
from tapec.ir.decision_tree import Tree
from tapec.passes.pipeline import PIPELINE
from tapec.report import tuning
from tapec.report.explorer import panes
from tapec.report.explorer.lines import tag
from tapec.report.explorer.paths import marks_of
from tapec.report.explorer.provenance import with_merged_origins
from tapec.report.explorer.rule_texts import derivative_text, numpy_name, rewrite_text
from tapec.report.explorer.steps import Fired, Followed, Step, follow, lines_of_code
from tapec.report.explorer.user_code import source_files, user_code
from tapec.report.graph_cost import cost_of
from tapec.report.graph_picture.svg import HEAD, STYLE
from tapec.report.highlight import CSS
from tapec.report.line_profile import LineTimes, line_times
from tapec.report.units import bytes_text, count_text, time_text
from tapec.runtime.compile import CompiledGraph, Options, code_of
from tapec.runtime.gc_pause import resting_collector

__all__ = ["Explored", "explore_page"]

_HERE = Path(__file__).parent


class Explored(NamedTuple):
    """Describes one compilation that the page shows; a page may have several, with other settings or targets.

    `generated` is the function, the source of its module, and values: it is run to measure its lines. `paths` tells
    the recorded paths, each with its tests, where control flow depends on values, and `tree` is the decision tree over
    the outputs of the recorded graph.
    """

    label: str
    forward: Graph
    compiled: CompiledGraph
    generated: tuple[Callable[..., Any], str, Sequence[Any]] | None = None
    paths: Sequence[Mapping[str, Any]] = ()
    target: str | None = None
    tree: Tree | None = None


def explore_page(name: str, explored: Sequence[Explored], limit: int | None = None) -> str:
    """Return the page. Above `limit` nodes, a picture has one box for each line."""
    with resting_collector():
        return _page(name, explored, tuning.PAGE_PICTURE_MAX_NODES if limit is None else limit)


def _page(name: str, explored: Sequence[Explored], limit: int) -> str:
    found = [follow(e.label, e.forward, e.compiled, e.target) for e in explored]
    variants = [_Variant(k, e, f, limit) for k, (e, f) in enumerate(zip(explored, found))]
    data = {"variants": [v.data for v in variants], "ops": _op_cards(found)}
    files = source_files([s.graph for f in found for s in f.steps if s.changed and not s.target])
    style, script, body = (_read(f"explore.{ending}") for ending in ("css", "js", "html"))
    parts = {
        "name": escape(name),
        "style": f"{STYLE}\n{CSS}\n{style}",
        "script": script,
        "head": HEAD,
        "data": json.dumps(data, ensure_ascii=False).replace("<", "\\u003c"),
        "options": "".join([tag("option", escape(v.label), value=k) for k, v in enumerate(variants)]),
        "several": "" if len(variants) > 1 else " hidden",
        "user": user_code(files) + _paths(explored[0]),
    }
    for pane in ("picture", "text", "changes", "passes", "code"):
        parts[pane] = "".join([panel for v in variants for panel in v.panels[pane]])
    return re.sub(r"\{\{(\w+)\}\}", lambda m: parts[m[1]], body)


def _read(file: str) -> str:
    return (_HERE / file).read_text(encoding="utf-8")


class _Variant:
    """Makes the panels of one compilation. Steps that changed nothing share the panels of the step before."""

    def __init__(self, k: int, explored: Explored, found: Followed, limit: int):
        self.k, self.found, self.limit = k, found, limit
        self.label = explored.label
        self.tree, self.target = explored.compiled.options.tree, explored.target
        self.recorded_tree = explored.tree
        times = _times(explored)
        self.panels: dict[str, list[str]] = {"passes": [self._panel("passes", self._passes())]}
        for pane in ("picture", "text", "changes", "code"):
            self.panels[pane] = []
        shown = [s for s in found.steps if s.is_shown]
        for place, step in enumerate(shown):
            before = shown[place - 1] if place else None
            self._add(place, step, before)
        self._codes(shown, times)
        last = len(shown) - 1
        steps = [self._step(place, step) for place, step in enumerate(shown)]
        code = {**steps[last], "name": "code", "does": _CODE, "facts": self._code_facts(), "code": f"{k}.code"}
        self.data = {"label": self.label, "steps": [*steps, code]}

    def _panel(self, place: Any, content: str) -> str:
        return tag("div", content, data_panel=f"{self.k}.{place}", hidden=True)

    def _tree_of(self, step: Step) -> Tree | None:
        return self.recorded_tree if step.name == "forward" else self.tree

    def _add(self, place: int, step: Step, before: Step | None) -> None:
        marks = marks_of(step.graph, self._tree_of(step))
        self.panels["picture"].append(self._panel(place, panes.picture(step, self.limit, marks)))
        self.panels["text"].append(self._panel(place, panes.graph_text(step)))
        what = panes.changes(before.graph, step.graph) if before is not None else "<p>Here it begins.</p>"
        self.panels["changes"].append(self._panel(place, what))

    def _codes(self, shown: Sequence[Step], times: LineTimes | None) -> None:
        """Write code for each step, as if it were the last one, if that does not take long; and for the last."""
        self.has_codes = self.target is None and sum([len(s.graph.nodes) for s in shown]) <= tuning.STEP_CODE_MAX_NODES
        for place, step in enumerate(shown if self.has_codes else ()):
            if not step.target:
                merged = with_merged_origins(step.graph, step.lines)
                made = code_of(merged, Options(self.found.code.name, self._tree_of(step)))
                written = panes.code(made.source, lines_of_code(made, step), None)
                self.panels["code"].append(self._panel(place, written))
        final = panes.code(self.found.code.source, self.found.lines, times)
        self.panels["code"].append(self._panel("code", final))

    def _step(self, place: int, step: Step) -> dict[str, Any]:
        own = self.has_codes and not step.target
        code = f"{self.k}.{place}" if own else f"{self.k}.code"
        panel = f"{self.k}.{place}"
        return {
            "name": step.name,
            "does": step.does,
            "facts": facts(step),
            "panel": panel,
            "code": code,
            "last": not own,
            "passes": f"{self.k}.passes",
        }

    def _code_facts(self) -> str:
        cost = self.found.code.cost
        lines = len(self.found.code.source.splitlines())
        return f"{lines} lines · {count_text(cost.flops)} flop · {bytes_text(cost.moved)} moved"

    def _passes(self) -> str:
        """List all passes: what each is for, what fired in it, at which lines, and the text of the rules."""
        by_name = {p.name: p for p in PIPELINE}
        rows, before, place = [], 0, -1
        for step in self.found.steps:
            place += step.is_shown
            count = operations(step.graph)
            if step.name not in ("forward", "gradient"):
                rules = [_rule(f, rewrite_text(by_name[step.name], f.rule)) for f in step.fired]
                rows.append(_pass_row(step, before, count, place, "".join(rules)))
            before = count
        return f'<ol class="passes">{"".join(rows)}</ol>'


def _times(explored: Explored) -> LineTimes | None:
    """Measure the lines of the code; None where floats raise an error for these values, and arrays answer the call."""
    if explored.generated is None or explored.target is not None:
        return None
    try:
        return line_times(*explored.generated)
    except (ArithmeticError, ValueError):
        return None


_CODE = "What is left is written as Python: point at a line of yours to see which lines do its work."


def operations(graph: Graph) -> int:
    return sum([n.op is not CONSTANT for n in graph.nodes])


def facts(step: Step) -> str:
    """Return one line about a step."""
    cost = cost_of(step.graph)
    parts = [
        f"{count_text(cost.nodes)} operations",
        f"{count_text(cost.flops)} flop",
        f"{bytes_text(cost.bytes)} moved",
        *([f"took {time_text(step.seconds)}"] if step.seconds else []),
        *[f"{f.rule} ×{f.times}" if f.times > 1 else f.rule for f in step.fired],
    ]
    return " · ".join(parts)


def _pass_row(step: Step, before: int, after: int, place: int, rules: str) -> str:
    where = f'<span class="of">{step.target}</span>' if step.target else ""
    name = tag("button", escape(step.name), data_go=place) if step.is_shown else f"<b>{escape(step.name)}</b>"
    counts = f"{before} → {after} operations" if before != after else "rewritten" if step.changed else "nothing to do"
    head = f"<header>{name}{where}<span>{counts} · {time_text(step.seconds)}</span></header>"
    return tag("li", f"{head}<p>{escape(step.does)}</p>{rules}", class_="" if step.changed else "idle")


def _rule(fired: Fired, text: str) -> str:
    places = [
        tag("a", f"{escape(line)}{f' ×{n}' if n > 1 else ''}", data_at=line, href="#")
        for line, n in fired.lines.items()
    ]
    times = f" ×{fired.times}" if fired.times > 1 else ""
    told = f'<code class="rule">{escape(text)}</code>' if text else ""
    return f'<div class="fired"><b>{escape(fired.rule)}</b>{times} <span>{" ".join(places)}</span>{told}</div>'


def _op_cards(found: Sequence[Followed]) -> dict[str, dict[str, str]]:
    """Return what tooltips tell about each op: NumPy's name for it, and its derivative."""
    ops = {n.op.name: n.op for f in found for s in f.steps if s.is_shown for n in s.graph.nodes}
    return {
        name: {"numpy": numpy_name(op), "rule": derivative_text(op)}
        for name, op in ops.items()
        if op is not CONSTANT and op is not INPUT
    }


def _paths(explored: Explored) -> str:
    """Tell the recorded paths and their tests."""
    if not any(path["guards"] for path in explored.paths):
        return ""
    several = len(explored.paths) > 1
    about = (
        f"{len(explored.paths)} paths are recorded"
        if several
        else "One path is recorded; others are added when a call takes them, here by <code>--more-args</code>"
    )
    items = "".join([_path(path) for path in sorted(explored.paths, key=lambda path: not path["taken"])])
    return f'<div class="paths"><h3>Branches</h3><p>{about}.</p><ol>{items}</ol></div>'


def _path(path: Mapping[str, Any]) -> str:
    tests = [f"<li>{escape(' '.join(guard.split()))}</li>" for guard in path["guards"][: tuning.PATH_MAX_TESTS]]
    more = len(path["guards"]) - len(tests)
    rest = f"<li>… {more} more tests</li>" if more > 0 else ""
    taken = "<em>taken by these arguments</em>" if path["taken"] else ""
    return f"<li>{taken}<ul>{''.join(tests)}{rest}</ul></li>"
