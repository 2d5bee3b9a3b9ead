"""Give numbers with longer expressions names of their own, where a function would work them out more than once.

scale = 1.0 / math.sqrt(q.shape[1])
scores = q @ k.T * scale
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import Any

from tapec.codegen import tuning
from tapec.codegen.common.expressions import Expr, Template, parse_template
from tapec.codegen.common.loader import Space
from tapec.codegen.common.module_layout import LOOPS, begins
from tapec.codegen.common.naming import RESERVED
from tapec.codegen.common.statements import Assign, Def, If, Statement, With, names_read

NEGATIVE = parse_template("-_0", 1)
__all__ = ["with_numbers_named"]

WORDS = {"2.0 * math.pi": "two_pi", "math.log(2.0 * math.pi)": "log_two_pi"}
LESS = re.compile(r"[^-+*/]+ - \d+")  # a size less a number: degrees of freedom


def with_numbers_named(body: list[Statement], params: Collection[str], space: Space) -> list[Statement]:
    """Return the statements of a function with names for numbers that are worked out twice, or in a loop."""
    positive = [parse_template(t.text.removeprefix("-"), 0) for t in space.numbers if _is_computed(t.text)]
    long = [t for t in dict.fromkeys(positive) if len(t.text) >= tuning.NAMED_NUMBER_MIN_CHARACTERS]
    if not long:
        return body
    taken = {*names_read(body), *params, *space.names, *RESERVED}
    for number in long:
        name = next(n for n in _numbered(_word_for(number.text)) if n not in taken)
        made = _named(body, number, name)
        if made is not body:
            taken.add(name)
            body = made
    return body


def _is_computed(text: str) -> bool:
    """Return whether an expression is more than a size."""
    return " " in text or "math." in text


def _word_for(text: str) -> str:
    if text in WORDS:
        return WORDS[text]
    if text.startswith("math.sqrt("):
        return "root"
    return "scale" if " / " in text else "dof" if LESS.fullmatch(text) else "const"


def _numbered(wish: str) -> Iterator[str]:
    yield wish
    k = 1
    while True:
        k += 1
        yield f"{wish}{k}"


def _named(block: list[Statement], number: Template, name: str) -> list[Statement]:
    """Return a block with a line for a number before its first reader, if it is read often enough."""
    counts = [_count(s, number) for s in block]
    readers = [k for k, count in enumerate(counts) if count]
    if not readers:
        return block
    k, only = readers[0], len(readers) == 1
    first: Any = block[k]
    if only and type(first) in (If, With):
        parts = tuple([_named(part, number, name) if type(part) is list else part for part in first])
        return [*block[:k], type(first)(*parts), *block[k + 1 :]] if parts != tuple(first) else block
    if only and type(first) not in LOOPS and counts[k] == 1:
        return block
    at = k
    while type(first) in LOOPS and at and begins(block[at - 1]):
        at -= 1
    line = Assign(name, Expr(number, ()), first.origin)
    return [*block[:at], line, *[_replaced(s, number, name) for s in block[at:]]]


def _count(x: Any, number: Template) -> int:
    """Return how often a number stands in a statement, or a part of one; functions inside have their own."""
    if type(x) is Expr and (x.template is number or x.template.text == f"-{number.text}"):
        return 1
    return sum([_count(part, number) for part in x]) if isinstance(x, (list, tuple)) and type(x) is not Def else 0


def _replaced(x: Any, number: Template, name: str) -> Any:
    """Return a statement, or a part of one, with a name for a number."""
    if type(x) is Expr and x.template is number:
        return name
    if type(x) is Expr and x.template.text == f"-{number.text}":
        return Expr(NEGATIVE, (name,))
    if not isinstance(x, (list, tuple)) or not _count(x, number):
        return x
    parts = [_replaced(part, number, name) for part in x]
    return type(x)(parts) if type(x) in (list, tuple) else type(x)(*parts)
