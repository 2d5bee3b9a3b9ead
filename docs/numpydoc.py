"""Reads docstrings in numpydoc form: a sentence, text, and sections with a line of dashes below their names.

name : type, default value
    What it means.
"""

from __future__ import annotations

import inspect
import re
from typing import Any, NamedTuple

__all__ = ["SECTIONS", "Doc", "Entry", "default_text", "doc_of", "parameters", "read", "signature_text"]

ENTRY_SECTIONS = ("Parameters", "Returns", "Yields", "Attributes", "Raises", "See Also")  # lists of entries
SECTIONS = (*ENTRY_SECTIONS[:5], "Notes", "Examples", "See Also")  # in their order
_HEAD = re.compile(r"^([A-Z][A-Za-z ]+)\n-{3,}\n", re.MULTILINE)
_DEFAULT = re.compile(r"(?:, |^)default (.+)$")


class Entry(NamedTuple):
    """A parameter, result, error or sibling: its names, its type, its default as text (None: it has none), its text."""

    names: tuple[str, ...]
    kind: str
    default: str | None
    text: str


class Doc(NamedTuple):
    """A docstring taken apart. `sections` has entries, or text, by name."""

    summary: str
    extended: str
    sections: dict[str, Any]

    def entries(self, name: str) -> list[Entry]:
        return self.sections.get(name, [])


def doc_of(x: Any) -> Doc:
    return read(inspect.getdoc(x) or "")


def read(docstring: str) -> Doc:
    head, *parts = _HEAD.split(inspect.cleandoc(docstring))
    summary, _, extended = head.strip().partition("\n\n")
    sections: dict[str, Any] = {}
    for name, text in zip(parts[::2], parts[1::2], strict=True):
        if name not in SECTIONS or name in sections:
            raise ValueError(f"a section {name!r} in a docstring that begins {summary!r}")
        sections[name] = _entries(name, text) if name in ENTRY_SECTIONS else text.strip()
    return Doc(" ".join(summary.split()), extended.strip(), sections)


def _entries(section: str, text: str) -> list[Entry]:
    found = []
    for part in re.split(r"\n(?=\S)", text.strip("\n")):
        line, _, body = part.partition("\n")
        names, colon, kind = line.partition(" : ")
        if section in ("Returns", "Yields") and not colon:  # the type alone
            names, kind = "", line
        default = _DEFAULT.search(kind)
        kind = kind[: default.start()] if default else kind
        listed = tuple([n.strip() for n in names.split(",") if n.strip()])
        found.append(Entry(listed, kind.strip(), default[1] if default else None, inspect.cleandoc(body)))
    return found


# -- signatures --------------------------------------------------------------------------------------------------------
def parameters(x: Any, method: bool = False) -> list[inspect.Parameter]:
    """What a function, a class or, without its first parameter, a method takes."""
    try:
        found = list(inspect.signature(x).parameters.values())
    except (TypeError, ValueError):
        return []
    return found[1:] if method else found


def default_text(p: inspect.Parameter) -> str | None:
    """The default as source, None for a parameter that has none."""
    value = p.default
    if value is p.empty:
        return None
    return value.__name__ if isinstance(value, type) else re.sub(r"^<(\w+\.\w+): .*>$", r"\1", repr(value))


def signature_text(name: str, found: list[inspect.Parameter]) -> str:
    """`name(a, b=1)`, on several lines where it is long."""
    stars = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    shown: list[str] = []
    bare = False
    for k, p in enumerate(found):
        if p.kind is p.VAR_POSITIONAL:
            bare = True
        elif p.kind is p.KEYWORD_ONLY and not bare:
            shown.append("*")
            bare = True
        default = default_text(p)
        shown.append(stars.get(p.kind, "") + p.name + ("" if default is None else f"={default}"))
        if p.kind is p.POSITIONAL_ONLY and (k + 1 == len(found) or found[k + 1].kind is not p.POSITIONAL_ONLY):
            shown.append("/")
    line = f"{name}({', '.join(shown)})"
    return line if len(line) <= 100 else f"{name}(\n" + "".join([f"    {one},\n" for one in shown]) + ")"
