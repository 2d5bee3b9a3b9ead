"""Colour text: Python source, graph text and diffs, for terminals and for pages.

A language is a function from text to pieces `(kind, text)` whose texts joined are the text again.
"""

from __future__ import annotations

import builtins
import html as _html
import io
import keyword
import re
import tokenize
from collections.abc import Iterable, Iterator

__all__ = ["CSS", "LANGUAGES", "ansi", "html", "html_lines", "pieces"]

Piece = tuple[str, str]

_BUILTINS = frozenset(name for name in dir(builtins) if not name.startswith("_"))
_KINDS = {
    tokenize.COMMENT: "comment",
    tokenize.STRING: "string",
    tokenize.NUMBER: "number",
    tokenize.OP: "operator",
}


# ---------------------------------------------------------------------------------------------------------------
# languages
# ---------------------------------------------------------------------------------------------------------------
def python_pieces(text: str) -> Iterator[Piece]:
    """Yield tokens of Python source, and what stands between them; source that cannot be read comes out plain."""
    lines = io.StringIO(text).readlines()  # ends lines where tokenize does
    row, column = 1, 0
    before = ""
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type in (tokenize.ENDMARKER, tokenize.INDENT, tokenize.DEDENT, tokenize.NEWLINE, tokenize.NL):
                continue
            yield "", _between(lines, (row, column), token.start)
            yield python_kind(token, before), token.string
            row, column = token.end
            before = token.string
    except (tokenize.TokenError, SyntaxError):
        pass
    yield "", _between(lines, (row, column), (len(lines) + 1, 0))


def python_kind(token: tokenize.TokenInfo, before: str) -> str:
    if token.type != tokenize.NAME:
        return _KINDS.get(token.type, "string" if "STRING" in tokenize.tok_name[token.type] else "")
    if keyword.iskeyword(token.string):
        return "keyword"
    if before in ("def", "class"):
        return "definition"
    if before == ".":
        return "attribute"
    return "builtin" if token.string in _BUILTINS else ""


def _between(lines: list[str], start: tuple[int, int], end: tuple[int, int]) -> str:
    """The text from one (row, column) to another."""
    (row, column), (last_row, last_column) = start, end
    if row == last_row:
        return lines[row - 1][column:last_column] if row <= len(lines) else ""
    rest = lines[row - 1][column:] if row <= len(lines) else ""
    tail = lines[last_row - 1][:last_column] if last_row <= len(lines) else ""
    return rest + "".join(lines[row : last_row - 1]) + tail


_GRAPH = re.compile(
    r"""(?P<comment>\#[^\n]*)
      | (?P<name>[%@](?:[\w.]+|"[^"\n]*"))
      | (?P<role>![a-z]\w*)
      | (?P<type>\b(?:[fciu]\d+|bool)\[[^\]\n]*\])
      | (?P<keyword>\b(?:graph|return)\b)
      | (?P<string>'[^'\n]*'|"[^"\n]*")
      | (?P<number>(?<![\w.])-?\d[\w.+]*)
      | (?P<definition>(?<==\s)[a-z_][\w.]*)""",
    re.VERBOSE,
)


def graph_pieces(text: str) -> Iterator[Piece]:
    """Yield pieces of graph text: names, types, operations."""
    at = 0
    for match in _GRAPH.finditer(text):
        yield "", text[at : match.start()]
        yield match.lastgroup or "", match.group()
        at = match.end()
    yield "", text[at:]


_DIFF = {"+": "added", "-": "removed", "@": "hunk"}


def diff_pieces(text: str) -> Iterator[Piece]:
    """A diff: whole lines, by their first character."""
    for line in text.splitlines(keepends=True):
        yield _DIFF.get(line[:1], ""), line


LANGUAGES = {"python": python_pieces, "graph": graph_pieces, "diff": diff_pieces}


def pieces(text: str, language: str = "python") -> list[Piece]:
    """The text in pieces, none of them empty."""
    return [piece for piece in LANGUAGES[language](text) if piece[1]]


# ---------------------------------------------------------------------------------------------------------------
# terminals
# ---------------------------------------------------------------------------------------------------------------
_ANSI = {
    "keyword": "35",
    "definition": "1;34",
    "builtin": "36",
    "attribute": "34",
    "string": "32",
    "number": "33",
    "comment": "90",
    "name": "36",
    "role": "90",
    "type": "32",
    "added": "32",
    "removed": "31",
    "hunk": "36",
}


def ansi(text: str, language: str = "python") -> str:
    """The text with colour codes for a terminal.

    >>> ansi("x = 1")
    'x = \\x1b[33m1\\x1b[0m'
    """
    return "".join(_paint(kind, part) for kind, part in pieces(text, language))


def _paint(kind: str, text: str) -> str:
    code = _ANSI.get(kind)
    if code is None:
        return text
    # a colour never crosses the end of a line: pagers and diffs cut there
    return "\n".join(f"\x1b[{code}m{line}\x1b[0m" if line else "" for line in text.split("\n"))


# ---------------------------------------------------------------------------------------------------------------
# pages
# ---------------------------------------------------------------------------------------------------------------
CSS = """
.tp-keyword { color: #8250df } .tp-definition { color: #0550ae; font-weight: 600 } .tp-builtin { color: #0a7ea4 }
.tp-attribute { color: #0550ae } .tp-string { color: #116329 } .tp-number { color: #953800 }
.tp-comment { color: #6e7781; font-style: italic } .tp-name { color: #0a7ea4 } .tp-type { color: #116329 }
.tp-role { color: #bc4c00 } .tp-added { color: #116329 } .tp-removed { color: #a40e26 } .tp-hunk { color: #0a7ea4 }
""".strip()


def html(text: str, language: str = "python") -> str:
    """The text as HTML: spans of classes `tp-...`, to be put into a `<pre>`.

    >>> html("x = 1")
    'x = <span class="tp-number">1</span>'
    """
    return "".join(_span(kind, part) for kind, part in pieces(text, language))


def html_lines(text: str, language: str = "python") -> list[str]:
    """The same, line by line: no span crosses the end of a line."""
    return "".join(_cut(pieces(text, language))).split("\n")


def _cut(parts: Iterable[Piece]) -> Iterator[str]:
    for kind, part in parts:
        yield "\n".join(_span(kind, line) if line else "" for line in part.split("\n"))


def _span(kind: str, text: str) -> str:
    plain = _html.escape(text, quote=False)
    return f'<span class="tp-{kind}">{plain}</span>' if kind and kind != "operator" else plain
