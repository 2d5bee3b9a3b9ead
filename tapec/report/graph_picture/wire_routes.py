"""Route wires between cells: tracks in the gaps between rows, lanes in the gutters beside the columns.

Gap g lies above row g. A cell of column 0 takes its wires from the gap above and gives them to the gap below; a cell of
column 1 is read upwards, so it takes from below and gives to above. A wire that has to change gaps goes through a
gutter: left of column 0, between the columns, or right of column 1.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["Net", "Router"]

Point = tuple[float, float]
End = tuple[int, int, float]  # row, column, x within the cell

STEP = 7.0  # from one track or lane to the next
MARGIN = 14.0
GUTTER = 22.0


@dataclass(eq=False)
class Net:
    """Holds a value and all cells that it is carried to."""

    source: Any
    start: End
    ends: list[End]


class Router:
    """Decides where cells stand, given their sizes by (row, column), and what way every wire takes."""

    def __init__(self, nets: list[Net], sizes: Mapping[tuple[int, int], tuple[float, float]]):
        self.nets = nets
        self.sizes = sizes
        self.rows = 1 + max((row for row, _ in sizes), default=0)
        self._lanes = self._give_lanes()
        self._give_columns()
        self._tracks = self._give_tracks()
        self._give_rows()

    # -- columns and lanes ----------------------------------------------------------------------------------------
    def _give_lanes(self) -> dict[tuple[Net, int], int]:
        """The lane of a net in each gutter it uses; short ways stay near the cells."""
        spans: list[dict[Hashable, tuple[float, float]]] = [{}, {}, {}]
        for net in self.nets:
            leave = exit_gap(net.start)
            for end in net.ends:
                enter = entry_gap(end)
                if enter != leave:
                    gutter = gutter_between(net.start[1], end[1])
                    low, high = spans[gutter].get(net, (leave, leave))
                    spans[gutter][net] = (min(low, enter), max(high, enter))
        lanes: dict[tuple[Net, int], int] = {}
        self._lane_counts = []
        for gutter, wanted in enumerate(spans):
            found = first_fit(wanted)
            self._lane_counts.append(1 + max(found.values(), default=-1))
            lanes.update({(net, gutter): lane for net, lane in found.items()})  # type: ignore[misc]
        return lanes

    def _give_columns(self) -> None:
        widths = [max((w for (_, c), (w, _) in self.sizes.items() if c == column), default=0.0) for column in (0, 1)]
        gutters = [MARGIN + STEP * n for n in self._lane_counts]
        gutters[1] = max(gutters[1] + MARGIN, GUTTER) if widths[1] else gutters[1]
        self._gutter_starts = [0.0, gutters[0] + widths[0], gutters[0] + widths[0] + gutters[1] + widths[1]]
        self._column_starts = [gutters[0], gutters[0] + widths[0] + gutters[1]]
        self._column_widths = widths
        self.width = sum(gutters) + sum(widths)

    def _left(self, row: int, column: int) -> float:
        """Return the left edge of a cell: it stands in the middle of its column."""
        return self._column_starts[column] + (self._column_widths[column] - self.sizes[row, column][0]) / 2

    def lane_x(self, net: Net, gutter: int) -> float:
        lane = self._lanes[net, gutter]
        if gutter == 0:  # lane 0 is nearest to the cells
            return self._column_starts[0] - MARGIN / 2 - STEP * lane
        return self._gutter_starts[gutter] + MARGIN / 2 + STEP * (lane + 0.5)

    # -- rows and tracks ------------------------------------------------------------------------------------------
    def _crossings(self, net: Net) -> dict[int, list[float]]:
        """Return the places where a net turns, in each gap that it visits."""
        leave = exit_gap(net.start)
        turns = {leave: [self._left(*net.start[:2]) + net.start[2]]}
        for end in net.ends:
            enter = entry_gap(end)
            if enter != leave:
                lane = self.lane_x(net, gutter_between(net.start[1], end[1]))
                turns[leave].append(lane)
                turns.setdefault(enter, []).append(lane)
            turns.setdefault(enter, []).append(self._left(*end[:2]) + end[2])
        return turns

    def _give_tracks(self) -> dict[tuple[Net, int], int]:
        spans: list[dict[Hashable, tuple[float, float]]] = [{} for _ in range(self.rows + 1)]
        for net in self.nets:
            for gap, turns in self._crossings(net).items():
                if max(turns) - min(turns) > 0.5:
                    spans[gap][net] = (min(turns), max(turns))
        self._track_counts = []
        tracks: dict[tuple[Net, int], int] = {}
        for gap, wanted in enumerate(spans):
            found = first_fit(wanted, apart=STEP)
            self._track_counts.append(1 + max(found.values(), default=-1))
            tracks.update({(net, gap): track for net, track in found.items()})  # type: ignore[misc]
        return tracks

    def _give_rows(self) -> None:
        self._gap_starts, self._row_starts, self._row_heights = [], [], []
        reach = 0.0
        for row in range(self.rows + 1):
            self._gap_starts.append(reach)
            edge = row in (0, self.rows) and not self._track_counts[row]
            reach += MARGIN if edge else 2 * MARGIN + STEP * max(self._track_counts[row] - 1, 0)
            if row < self.rows:
                tall = max((h for (r, _), (_, h) in self.sizes.items() if r == row), default=0.0)
                self._row_starts.append(reach)
                self._row_heights.append(tall)
                reach += tall
        self.height = reach

    def corner(self, row: int, column: int) -> Point:
        """The upper left corner of a cell: low in its row when read downwards, high when read upwards."""
        return self._left(row, column), self._row_starts[row]

    def _track_y(self, net: Net, gap: int) -> float:
        return self._gap_starts[gap] + MARGIN + STEP * self._tracks.get((net, gap), 0)

    def wires(self) -> Iterator[tuple[Net, list[Point]]]:
        """The way from a net's cell to each cell that it ends in."""
        for net in self.nets:
            leave = exit_gap(net.start)
            out = (self._left(*net.start[:2]) + net.start[2], self._edge(net.start, leave))
            for end in net.ends:
                enter = entry_gap(end)
                into = (self._left(*end[:2]) + end[2], self._edge(end, enter))
                points = [out, (out[0], self._track_y(net, leave))]
                if enter != leave:
                    lane = self.lane_x(net, gutter_between(net.start[1], end[1]))
                    points += [(lane, self._track_y(net, leave)), (lane, self._track_y(net, enter))]
                yield net, [*points, (into[0], self._track_y(net, enter)), into]

    def _edge(self, end: End, gap: int) -> float:
        """The y of the edge of a cell that looks to a gap."""
        row, column, _ = end
        top = self.corner(row, column)[1]
        return top if gap == row else top + self.sizes[row, column][1]


def exit_gap(end: End) -> int:
    return end[0] + 1 if end[1] == 0 else end[0]


def entry_gap(end: End) -> int:
    return end[0] if end[1] == 0 else end[0] + 1


def gutter_between(source: int, target: int) -> int:
    return 1 if source != target else (0 if source == 0 else 2)


def first_fit(spans: Mapping[Hashable, tuple[float, float]], apart: float = 0.0) -> dict[Hashable, int]:
    """Give each interval the first level on which it touches no other; short intervals choose first."""
    levels: list[list[tuple[float, float]]] = []
    found: dict[Hashable, int] = {}
    for key, (low, high) in sorted(spans.items(), key=lambda item: item[1][1] - item[1][0]):
        free = [k for k, taken in enumerate(levels) if all(high + apart < a or b < low - apart for a, b in taken)]
        if not free:
            levels.append([])
        found[key] = free[0] if free else len(levels) - 1
        levels[found[key]].append((low, high))
    return found
