"""Tables of what `tests/benchmarks/peers.py` measured: `docs/performance.json`, in Markdown."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

__all__ = ["categories_table", "chart", "measured", "ratios_table"]

JSON = Path(__file__).resolve().parent / "performance.json"


def measured() -> dict[str, Any]:
    return json.loads(JSON.read_text(encoding="utf-8"))


def ratio(data: dict[str, Any], name: str, library: str) -> float | None:
    """Warm time relative to what is written by hand; None where there is no result."""
    times = data["times"][name].get(library, {})
    return times["warm"] / data["times"][name]["by hand"]["warm"] if "warm" in times else None


def ratios_table(data: dict[str, Any]) -> str:
    """Each workload: by hand in seconds, others as ratios, and the time of their first call."""
    libraries = [name for name in data["libraries"] if name != "by hand"]
    lines = ["| workload | by hand | " + " | ".join(f"{n} (first call)" for n in libraries) + " |"]
    lines.append("| --- " * (2 + len(libraries)) + "|")
    for name, times in data["times"].items():
        cells = [f"{number(ratio(data, name, n))}{first(times.get(n, {}))}" for n in libraries]
        lines.append(f"| {name} | {duration(times['by hand']['warm'])} | {' | '.join(cells)} |")
    means = [number(mean([ratio(data, name, n) for name in data["times"]])) for n in libraries]
    lines.append(f"| **geometric mean** | | {' | '.join(f'**{m}**' for m in means)} |")
    return "\n".join([*lines, "", origin(data)])


def categories_table(data: dict[str, Any]) -> str:
    """Geometric means over the workloads of each kind."""
    libraries = [name for name in data["libraries"] if name != "by hand"]
    lines = ["| | " + " | ".join(libraries) + " |", "| --- " * (1 + len(libraries)) + "|"]
    kinds: dict[str, list[str]] = {}
    for name in data["times"]:
        kinds.setdefault(data["categories"][name], []).append(name)
    for kind, names in [*kinds.items(), ("**all**", list(data["times"]))]:
        cells = [number(mean([ratio(data, name, n) for name in names])) for n in libraries]
        lines.append(f"| {kind} | {' | '.join(cells)} |")
    return "\n".join([*lines, "", origin(data)])


def chart(data: dict[str, Any]) -> str:
    """The ratios as SVG: a row for each workload, a dot for each library, on a logarithmic scale."""
    libraries = [name for name in data["libraries"] if name != "by hand"]
    found = {name: {n: r for n in libraries if (r := ratio(data, name, n))} for name in data["times"]}
    low, high = 0.1, 10 ** math.ceil(math.log10(max(r for row in found.values() for r in row.values())))
    left, width, step, top = 190, 560, 24, 44

    def x(r: float) -> float:
        return left + width * (math.log10(r) - math.log10(low)) / (math.log10(high) - math.log10(low))

    bottom = top + step * len(found)
    parts = [f'<rect width="{left + width + 40}" height="{bottom + 40}" rx="6" fill="#fff"/>']
    for k in range(round(math.log10(low)), round(math.log10(high)) + 1):
        stroke = "#8c959f" if k == 0 else "#d1d9e0"
        parts.append(f'<path d="M{x(10.0**k):.1f} {top - 8}V{bottom}" stroke="{stroke}"/>')
        parts.append(f'<text x="{x(10.0**k):.1f}" y="{bottom + 18}" text-anchor="middle">{10.0**k:g}×</text>')
    for n, library in enumerate(libraries):
        cx = left + 110 * n
        parts.append(f'<circle cx="{cx}" cy="20" r="5" fill="{COLORS[n]}"/><text x="{cx + 10}" y="24">{library}</text>')
    for row, (name, ratios) in enumerate(found.items()):
        y = top + step * (row + 0.5)
        parts.append(f'<text x="{left - 12}" y="{y + 4:.1f}" text-anchor="end">{name}</text>')
        for library, r in reversed(ratios.items()):
            color = COLORS[libraries.index(library)]
            parts.append(f'<circle cx="{x(max(r, low)):.1f}" cy="{y:.1f}" r="5" fill="{color}"/>')
    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + width + 40}" height="{bottom + 40}" role="img">'
    style = "<style>text { font: 12px system-ui, sans-serif; fill: #1f2328 }</style>"
    title = "<title>Time of a gradient, as a multiple of what is written by hand</title>"
    return "\n".join([head, title, style, *parts, "</svg>", ""])


COLORS = ("#0969da", "#bf8700", "#8250df", "#cf222e", "#1a7f37", "#57606a")


def origin(data: dict[str, Any]) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in data["versions"].items())
    return f"Measured on {data['date']}: {data['machine']}, {versions}."


def mean(ratios: list[float | None]) -> float | None:
    """The geometric mean of what there is."""
    found = [r for r in ratios if r is not None]
    return math.exp(sum(map(math.log, found)) / len(found)) if found else None


def number(x: float | None) -> str:
    if x is None:
        return "—"
    return f"{x:.2f}" if x < 9.95 else f"{x:.0f}"


def first(times: dict[str, Any]) -> str:
    return f" ({duration(times['cold'])})" if "cold" in times else ""


def duration(seconds: float) -> str:
    for factor, unit in ((1.0, "s"), (1e3, "ms"), (1e6, "µs")):
        if seconds * factor >= 1:
            x = seconds * factor
            return f"{x:.0f} {unit}" if x >= 9.95 else f"{x:.1f} {unit}"
    return f"{seconds * 1e9:.0f} ns"
