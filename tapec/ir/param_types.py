"""A `ParamType` says of a static parameter of an op which values it may have: `Op.params` has one for each.

What a graph's text, a pickle or a caller gives as a parameter is written into generated source. So the types are
narrow, and what `holds` lets through is exactly what `repr`, or the op's own `source`, writes as that value.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tapec.fast_namedtuple import NamedTuple
from tapec.ir.static_index import Slice, Slot
from tapec.ir.types import NUMBERS

__all__ = [
    "AXES",
    "AXIS",
    "BOOL",
    "BOOLS",
    "DTYPE",
    "INDEX",
    "INTEGER",
    "INTEGERS",
    "NUMBER",
    "OBJECT",
    "OP_NAME",
    "OP_PARAMS",
    "REAL",
    "SIZE",
    "SIZES",
    "SUBSCRIPTS",
    "TEXT",
    "VALUE",
    "ParamType",
    "either",
    "keywords",
    "maybe",
    "one_of",
    "optional",
    "pairs_of",
    "tuple_of",
]


class ParamType(NamedTuple):
    """A type of parameters: `what` names it in messages, `holds(value)` tells whether a value has it.

    A parameter that is not `needed` may be left out.
    """

    what: str
    holds: Callable[[Any], bool]
    needed: bool = True


_INTEGERS = frozenset({int, bool, *[np.dtype(c).type for c in "bhilqBHILQ"]})
_END = int(np.iinfo(np.int64).max)  # NumPy takes no larger integers as axes, sizes and places
_BOOLS = frozenset({bool, np.bool_})
_NUMBERS = NUMBERS | {np.dtype(c).type for c in "?bhilqBHILQefdgFDG"}
_PLAIN = _NUMBERS | {str, bytes, tuple, list, type(None), type(Ellipsis), Slice, Slot}


# -- types made of others -------------------------------------------------------------------------------------------
def one_of(*values: Any) -> ParamType:
    """One of these texts or numbers."""
    listed = " or ".join(map(repr, values))
    return ParamType(listed, lambda v: any([type(v) is type(known) and v == known for known in values]))


def either(*types: ParamType) -> ParamType:
    """A value of any of these types."""
    return ParamType(" or ".join([t.what for t in types]), lambda v: any([t.holds(v) for t in types]))


def optional(t: ParamType) -> ParamType:
    """A value of this type, or None."""
    return ParamType(f"{t.what} or None", lambda v: v is None or t.holds(v))


def maybe(t: ParamType) -> ParamType:
    """A value of this type, which need not be given."""
    return ParamType(t.what, t.holds, needed=False)


def tuple_of(t: ParamType) -> ParamType:
    """A tuple of values of this type."""
    return ParamType(f"a tuple, each {t.what}", lambda v: type(v) is tuple and all([t.holds(part) for part in v]))


def pairs_of(t: ParamType) -> ParamType:
    """A tuple of pairs of values of this type."""
    return ParamType(
        f"pairs, each {t.what}",
        lambda v: (
            type(v) is tuple
            and all([type(pair) is tuple and len(pair) == 2 and t.holds(pair[0]) and t.holds(pair[1]) for pair in v])
        ),
    )


def keywords(**types: ParamType) -> ParamType:
    """A tuple of pairs: names of keywords, each at most once, and their values."""

    def holds(v: Any) -> bool:
        pairs = type(v) is tuple and all([type(pair) is tuple and len(pair) == 2 for pair in v])
        if not pairs or any([type(name) is not str or name not in types for name, _ in v]):
            return False
        return len(dict(v)) == len(v) and all([types[name].holds(value) for name, value in v])

    return ParamType(f"pairs of a name ({', '.join(types)}) and a value", holds)


# -- types ----------------------------------------------------------------------------------------------------------
INTEGER = ParamType("an integer", lambda v: type(v) in _INTEGERS and abs(int(v)) <= _END)
INTEGERS = tuple_of(INTEGER)
SIZE = ParamType("an integer that is not negative", lambda v: type(v) in _INTEGERS and 0 <= v <= _END)
SIZES = tuple_of(SIZE)
# axes of the first operand, counted from the front; the verifier looks whether it has them
AXIS = ParamType("an axis counted from the front", lambda v: type(v) is not bool and INTEGER.holds(v))
AXES = tuple_of(AXIS)._replace(what="a tuple of axes counted from the front")
BOOL = ParamType("True or False", lambda v: type(v) in _BOOLS)
BOOLS = tuple_of(BOOL)
NUMBER = ParamType("a number", lambda v: type(v) in _NUMBERS)
REAL = ParamType("a real number", lambda v: type(v) in _NUMBERS and not isinstance(v, (complex, np.complexfloating)))
DTYPE = ParamType("a dtype of numbers", lambda v: isinstance(v, np.dtype) and v.kind in "biufc")


def _are_subscripts(v: Any) -> bool:
    left, arrow, right = v.partition("->") if type(v) is str else ("", "", "")
    letters = left.replace(",", "") + right
    return bool(arrow) and letters.isascii() and (not letters or letters.isalpha())


SUBSCRIPTS = ParamType("subscripts such as 'ij,jk->ik'", _are_subscripts)


def _is_index(v: Any) -> bool:
    return type(v) is tuple and all([_is_part(part) for part in v])


def _is_part(part: Any) -> bool:
    if type(part) is Slice:
        return all([bound is None or INTEGER.holds(bound) for bound in part]) and part.step != 0
    if type(part) is Slot:
        return SIZE.holds(part.k)
    return part is None or part is Ellipsis or INTEGER.holds(part)


INDEX = ParamType("an index: a tuple of integers, slices, None, ... and $k", _is_index)

# a text of any kind, of which sources write the `repr`, if anything
TEXT = ParamType("a text", lambda v: type(v) is str)
# the value of a constant
VALUE = ParamType("a number or an array", lambda v: type(v) in NUMBERS or isinstance(v, (np.ndarray, np.generic)))
# what an op is given by Python code alone, such as a function, and no source writes: no graph's text can say it
OBJECT = ParamType("an object", lambda v: type(v) not in _PLAIN and not isinstance(v, str))


# the name of another op, and that op's parameters, as a tuple of pairs; `wrong_params` looks into them
OP_NAME = ParamType("the name of an op", lambda v: type(v) is str)
OP_PARAMS = ParamType("pairs of names and values", lambda v: type(v) is tuple)
