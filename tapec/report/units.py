"""Write numbers for people: times, bytes, counts."""

from __future__ import annotations

__all__ = ["bytes_text", "count_text", "time_text"]


def time_text(seconds: float) -> str:
    """Three digits and a unit.

    >>> time_text(0.00123), time_text(45e-9)
    ('1.23 ms', '45.0 ns')
    """
    for factor, unit in ((1.0, "s"), (1e3, "ms"), (1e6, "µs")):
        if seconds * factor >= 1:
            return f"{_digits(seconds * factor)} {unit}"
    return f"{_digits(seconds * 1e9)} ns"


def bytes_text(count: float) -> str:
    """
    >>> bytes_text(80), bytes_text(123456)
    ('80 B', '123 kB')
    """
    if count < 1000:
        return f"{count:.0f} B"
    for unit in ("kB", "MB"):
        count /= 1000
        if count < 1000:
            return f"{_digits(count)} {unit}"
    return f"{_digits(count / 1000)} GB"


def count_text(count: float) -> str:
    """Return digits in groups of three, parted by no-break spaces."""
    return f"{count:,.0f}".replace(",", "\N{NO-BREAK SPACE}")


def _digits(x: float) -> str:
    return f"{x:.0f}" if x >= 99.95 else f"{x:.1f}" if x >= 9.995 else f"{x:.2f}"
