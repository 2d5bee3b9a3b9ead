"""Write values as Python source: whatever enters the text of a module goes through a function of this file.

A function returns None for a value that it cannot write so that Python reads the same value back; the caller refuses,
or compares the value by class and text when the module runs (`printed`).
"""

from __future__ import annotations

import enum
import keyword
import re
import sys
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

import numpy as np

from tapec.api import tuning
from tapec.codegen.common.module_constants import is_eye, is_range
from tapec.errors import TapecError
from tapec.ir.types import NUMBERS
from tapec.ops.core.op_helpers import source_of_value

__all__ = ["constant_text", "docstring_lines", "is_name", "list_text", "literal", "printed"]


def is_name(text: Any) -> bool:
    """Return whether a text may stand as a name in Python source."""
    return type(text) is str and text.isidentifier() and not keyword.iskeyword(text)


def literal(x: Any) -> str | None:
    """Return the source of a plain value: None, a truth value, a number, a text, or a tuple of these."""
    if type(x) is tuple:
        parts = [literal(part) for part in x]
        return None if None in parts else f"({', '.join(map(str, parts))}{',' * (len(parts) == 1)})"
    if type(x) is frozenset:
        parts = [literal(part) for part in x]
        return None if None in parts else f"frozenset({{{', '.join(sorted(map(str, parts)))}}})" if x else "frozenset()"
    if isinstance(x, np.generic):
        return constant_text(x) if x.dtype.kind in "biufc" else None
    return source_of_value(x) if x is None or type(x) in (bool, int, float, complex, str, bytes) else None


def printed(x: Any) -> tuple[str, str] | None:
    """Return the class and the text that an object is told by, in this process and in others; None where no text tells
    the object from all others.

    A function is told by its module and name, where that has it, a member of an enum by its name, other objects by
    their `repr`.
    """
    kind = type(x).__qualname__
    if isinstance(x, (FunctionType, BuiltinFunctionType)):
        is_of_module = isinstance(x, FunctionType) or isinstance(x.__self__, ModuleType)
        return (kind, f"{x.__module__}.{x.__qualname__}") if is_of_module and _is_at_its_name(x) else None
    if isinstance(x, enum.Enum) and x._name_:
        return kind, f"{kind}.{x._name_}"
    return (kind, repr(x)) if _prints_all(x) else None


def _is_at_its_name(x: Any) -> bool:
    """Return whether a function is what its module has by its name: one that `functools.wraps` made is not."""
    found = sys.modules.get(x.__module__)
    for part in x.__qualname__.split("."):
        found = getattr(found, part, None)
    return found is x


_PRINT_ALL = frozenset(
    ["builtins.type", "numpy.ufunc", "fractions.Fraction", "decimal.Decimal", "builtins.range", "builtins.slice"]
)


def _prints_all(x: Any) -> bool:
    """Return whether the `repr` of an object tells the object from all others of its class that are not equal to it."""
    if literal(x) is not None or isinstance(x, np.dtype):
        return True
    if isinstance(x, (list, tuple, set, frozenset)):
        return all(map(_prints_all, x))
    if type(x) is dict:
        return all(map(_prints_all, [*x, *x.values()]))
    if isinstance(x, enum.Enum):
        return type(x).__repr__ is enum.Enum.__repr__ and _prints_all(x._value_)
    if hasattr(type(x), "__dataclass_fields__") and hasattr(type(x).__repr__, "__wrapped__"):  # the repr of dataclasses
        fields = type(x).__dataclass_fields__
        return all(field.repr and _prints_all(getattr(x, name)) for name, field in fields.items())
    return f"{type(x).__module__}.{type(x).__qualname__}" in _PRINT_ALL or type(x).__module__ == "datetime"


def docstring_lines(doc: str) -> list[str]:
    """Return a text as a docstring, indented: what it begins, ends and is cut by stays text."""
    lines = re.sub('"(?=")', '\\\\"', "".join(map(_quoted, doc))).split("\n")
    if len(lines) == 1:
        text = re.sub('"$', '\\\\"', lines[0])
        return [f'    """{text}"""']
    return [f'    """{lines[0]}', *[f"    {line}".rstrip() for line in lines[1:]], '    """']


def _quoted(c: str) -> str:
    if c == "\n" or (c.isprintable() and c != "\\"):
        return c
    if "\ud800" <= c <= "\udfff":
        return "\ufffd"  # half of a character, of which Python makes no docstring
    return c.encode("unicode_escape").decode("ascii")


def constant_text(value: Any) -> str:
    """Return a number or array as source: by what makes it, written out when it is small, as bytes when it is not."""
    if type(value) in NUMBERS:
        return source_of_value(value)
    array = np.asarray(value)
    if array.dtype.kind not in "biufc":
        raise TapecError(f"an array of {array.dtype} cannot be exported: only numbers and truth values can")
    if array.ndim == 0 and array.dtype.char != "G":
        return f"np.{array.dtype.name}({source_of_value(array.item())})"
    if is_range(array):
        return f"np.arange({len(array)})" if array.dtype == int else f"np.arange({len(array)}, dtype='{array.dtype}')"
    if is_eye(array) and not np.signbit(array).any():
        return f"np.eye({len(array)})"
    most = tuning.WRITTEN_OUT_WIDE_MAX_ELEMENTS if array.dtype.itemsize > 8 else tuning.WRITTEN_OUT_MAX_ELEMENTS
    if array.size <= most and array.dtype.char != "G":  # whose numbers have no text that is read back
        usual = array.dtype in (np.dtype(float), np.dtype(int), np.dtype(bool))
        dtype = "" if usual else f", {array.dtype.name!r}"
        text = f"np.array({_list_text(array.tolist())}{dtype})"
        return text if array.size else f"np.zeros({array.shape!r}, {array.dtype.name!r})"
    data = np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<")).tobytes().hex()
    dtype, last = array.dtype.newbyteorder("<").str, "" if array.ndim else "[()]"
    return f"np.frombuffer(bytes.fromhex({data!r}), {dtype!r}).reshape({array.shape!r}){last}"


def list_text(value: Any) -> str:
    """Return the elements of an array as the source of nested lists, which needs the standard library alone."""
    array = np.asarray(value)
    return _list_text(array.tolist()).replace("np.", "math.")


def _list_text(x: Any) -> str:
    return f"[{', '.join(map(_list_text, x))}]" if isinstance(x, list) else source_of_value(x)
