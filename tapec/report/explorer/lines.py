"""Write lines of code as HTML: each is an element that knows which lines of the user's it belongs to."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from tapec.report import tuning

__all__ = ["attribute", "code_line", "pre", "tag"]


def attribute(name: str, values: Iterable[str]) -> str:
    """Write an attribute that has several words; nothing where there are none."""
    words = " ".join(values)
    return f' {name}="{escape(words)}"' if words else ""


def code_line(
    content: str, at: Iterable[str] = (), gutter: str = "", lights: Sequence[str] = (), before: str = ""
) -> str:
    """Write a line: `at` are the lines of the user's that light it, `lights` what it lights where that is more."""
    at = list(at)
    marks = attribute("data-at", at) + (attribute("data-lights", lights) if list(lights) != at else "")
    number = f"<i>{escape(gutter)}</i>" if gutter else ""
    return f'<span class="ln"{marks}>{before}{number}<code>{content or " "}</code></span>'


def pre(lines: Sequence[str]) -> str:
    """Put lines into a block, as many as a pane shows."""
    more = len(lines) - tuning.PANE_MAX_LINES
    shown = [*lines[: tuning.PANE_MAX_LINES], code_line(f"… {more} more lines")] if more > 0 else lines
    return f"<pre>{''.join(shown)}</pre>"


def tag(name: str, content: str, **attributes: object) -> str:
    """Write an element: `data_panel=3` is the attribute `data-panel`, True one without a value, None none."""
    given = [
        f" {key.rstrip('_').replace('_', '-')}" + ("" if value is True else f'="{escape(str(value))}"')
        for key, value in attributes.items()
        if value is not None and value is not False
    ]
    return f"<{name}{''.join(given)}>{content}</{name}>"
