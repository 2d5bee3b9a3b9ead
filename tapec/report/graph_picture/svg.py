"""Draw a graph as SVG text: no other program is needed, and the same graph gives the same bytes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from html import escape
from itertools import pairwise

from tapec.ir import Graph
from tapec.report.graph_picture.picture_layout import Box, Drawing, Frame, Wire, layout

__all__ = ["HEAD", "STYLE", "draw", "svg"]

Point = tuple[float, float]
Place = Callable[[Box | Frame], str]

ROUND = 5.0  # radius of the corners of wires
EDGE = 12.0  # white around the whole

STYLE = """
.tp text { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; fill: #1f2328 }
.tp .title { font-size: 12px; text-anchor: middle }
.tp .subtitle { font-size: 10px; text-anchor: middle; fill: #59636e }
.tp .halo { font-size: 10px; fill: #f6f8fa; stroke: #f6f8fa; stroke-width: 4px }
.tp .label { font-size: 10px; fill: #59636e }
.tp .code { fill: #1f2328 }
.tp .box rect { stroke-width: 1.2 } .tp .frame rect { fill: #f6f8fa; stroke: #d1d9e0; stroke-dasharray: 3 3 }
.tp .forward rect { fill: #ddf4ff; stroke: #218bff } .tp .derivative rect { fill: #fff1e5; stroke: #e16f24 }
.tp .input rect { fill: #dafbe1; stroke: #2da44e } .tp .output rect { fill: #fff; stroke: #1f2328 }
.tp .test rect { fill: #fbefff; stroke: #8250df; stroke-dasharray: 4 2 }
.tp .carried { font-size: 11px; text-anchor: middle }
.tp .constant rect { fill: #f6f8fa; stroke: #818b98 }
.tp .wire { fill: none; stroke: #6ea8e0; stroke-width: 1.3 } .tp .wire.d { stroke: #eaa274 }
""".strip()

HEAD = (  # of arrows
    '<marker id="tp-head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="6" markerHeight="6" orient="auto">'
    '<path d="M0 0.5 L8 4 L0 7.5 z" fill="#8c959f"/></marker>'
)


def svg(graph: Graph, limit: int | None = None) -> str:
    """The picture of a graph. Above `limit` nodes, each line becomes one box."""
    return draw(layout(graph, limit), graph.name)


def draw(
    drawing: Drawing,
    title: str = "graph",
    alone: bool = True,
    attributes: Callable[[Box | Frame], str] | None = None,
) -> str:
    """Return SVG text of a drawing. If not alone, the page around it brings STYLE and HEAD; `attributes` are written on
    boxes and frames, by default the line that they stand for."""
    place = _place if attributes is None else attributes
    width, height = drawing.width + 2 * EDGE, drawing.height + 2 * EDGE
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="tp" viewBox="0 0 {_n(width)} {_n(height)}"'
        f' width="{_n(width)}" height="{_n(height)}" role="img">',
        f"<title>{escape(title)}</title>",
        *([f"<style>{STYLE}</style>", f"<defs>{HEAD}</defs>"] if alone else []),
        f'<rect width="{_n(width)}" height="{_n(height)}" rx="6" fill="#fff"/>',
        f'<g transform="translate({_n(EDGE)} {_n(EDGE)})">',
    ]
    lines += [_frame(f, place) for f in drawing.frames]
    lines += dict.fromkeys(_wires(drawing.wires))  # bends are shared, so some wires are drawn by several arrows
    lines += [_label(f, place) for f in drawing.frames]
    lines += [_box(b, place) for b in drawing.boxes]
    return "\n".join([*lines, "</g>", "</svg>", ""])


def _frame(f: Frame, place: Place) -> str:
    return (
        f'<g class="frame{" d" if f.derivative else ""}"{place(f)}>'
        f'<rect x="{_n(f.x)}" y="{_n(f.y)}" width="{_n(f.width)}" height="{_n(f.height)}" rx="6"/></g>'
    )


def _label(f: Frame, place: Place) -> str:
    """The text, over the same in the colour of the frame, which keeps wires off it (not all know paint-order)."""
    code = f' <tspan class="code">{escape(f.code)}</tspan>' if f.code else ""
    at = f'xml:space="preserve"{place(f)} x="{_n(f.x + 8)}" y="{_n(f.y + 13)}"'
    text = f"{escape(f.label)} {code}</text>"
    halo = f"{escape(f.label)}  {escape(f.code or '')}</text>"
    return f'<text class="halo" aria-hidden="true" {at}>{halo}<text class="label" {at}>{text}'


def _box(b: Box, place: Place) -> str:
    x, y = b.x - b.width / 2, b.y - b.height / 2
    radius = 4 if b.kind in ("forward", "derivative", "constant") else min(b.height / 2, 14)
    title_y = b.y - 2 if b.subtitle else b.y + 4
    subtitle = (
        f'<text class="subtitle" x="{_n(b.x)}" y="{_n(b.y + 11)}">{escape(b.subtitle)}</text>' if b.subtitle else ""
    )
    x_of, y_of, size = _n(x), _n(y), f'width="{_n(b.width)}" height="{_n(b.height)}" rx="{_n(radius)}"'
    behind = f'<rect class="behind" x="{_n(x + 3)}" y="{_n(y + 3)}" {size}/>' if b.members else ""
    again = f'<text class="carried" x="{_n(x + b.width - 9)}" y="{_n(y + 12)}">↻</text>' if b.carried else ""
    return (
        f'<g class="box {b.kind}"{place(b)}>{behind}'
        f'<rect x="{x_of}" y="{y_of}" {size}/>'
        f'<text class="title" x="{_n(b.x)}" y="{_n(title_y)}">{escape(b.title)}</text>{subtitle}{again}</g>'
    )


def _place(item: Box | Frame) -> str:
    return f' data-at="{escape(str(item.line))}"' if item.line else ""


def _wires(wires: list[Wire]) -> Iterator[str]:
    for wire in wires:
        path = _curves(wire.points) if wire.curved else _corners(wire.points)
        head = ' marker-end="url(#tp-head)"' if wire.head else ""
        yield f'<path class="wire{" d" if wire.derivative else ""}" d="{path}"{head}/>'


def _curves(points: list[Point]) -> str:
    """Return the path of curves that leave and arrive vertically."""
    parts = [f"M{_p(points[0])}"]
    for (x, y), (x2, y2) in pairwise(points):
        if abs(x - x2) < 0.5:
            parts.append(f"L{_p((x2, y2))}")
        else:
            middle = (y + y2) / 2
            parts.append(f"C{_p((x, middle))} {_p((x2, middle))} {_p((x2, y2))}")
    return "".join(parts)


def _corners(points: list[Point]) -> str:
    """Return the path of straight pieces with rounded corners."""
    kept = [points[0]]
    for p in points[1:]:
        if math.dist(p, kept[-1]) > 0.5:
            kept.append(p)
    parts = [f"M{_p(kept[0])}"]
    for before, corner, after in zip(kept, kept[1:], kept[2:]):
        into, out = _toward(corner, before), _toward(corner, after)
        parts.append(f"L{_p(into)}Q{_p(corner)} {_p(out)}")
    return "".join([*parts, f"L{_p(kept[-1])}"])


def _toward(corner: Point, other: Point) -> Point:
    """A point near a corner on the way to another point."""
    length = math.dist(corner, other)
    t = min(ROUND, length / 2) / length
    return corner[0] + (other[0] - corner[0]) * t, corner[1] + (other[1] - corner[1]) * t


def _p(point: Point) -> str:
    return f"{_n(point[0])} {_n(point[1])}"


def _n(number: float) -> str:
    """A number of at most one decimal."""
    return f"{number:.1f}".removesuffix(".0")
