"""An entry is one compilation as bytes: a line that says what follows, JSON, code, lines of origin, arrays.

Nothing in it is a pickle. The code is what Python keeps in `__pycache__`: the compiled form of source that tapec
generated. A checksum stands before it all, so that half an entry, or another file, is never taken for one.
"""

from __future__ import annotations

import hashlib
import json
import marshal
import math
from types import CodeType
from typing import Any, Literal

import numpy as np

from tapec.codegen.common.module_constants import is_eye, is_range

__all__ = ["Damaged", "described", "packed", "unpacked"]

MAGIC = b"tapec cache 2"


class Damaged(Exception):
    """Raised for bytes that are no entry, or not all of one."""


def packed(about: dict[str, Any], codes: list[CodeType], arrays: dict[str, Any]) -> bytes:
    """The bytes of an entry; ValueError when something in it cannot be kept."""
    parts = [marshal.dumps(codes)]
    layouts = {}
    for name, value in arrays.items():
        array = np.asarray(value)
        if array.dtype.hasobject or array.dtype.names:
            raise ValueError(f"{name} is an array of {array.dtype}")
        if is_range(array) or (is_eye(array) and not np.signbit(array).any()):
            layouts[name] = [array.dtype.str, list(array.shape), "made"]
            continue
        order: Literal["C", "F"] = "F" if array.flags.f_contiguous and not array.flags.c_contiguous else "C"
        layouts[name] = [array.dtype.str, list(array.shape), order]
        parts.append(array.tobytes(order))
    head = json.dumps({**about, "arrays": layouts, "code bytes": len(parts[0])}).encode()
    body = b"".join([head, *parts])
    return b"%s %s %d\n%s" % (MAGIC, hashlib.sha256(body).hexdigest().encode(), len(head), body)


def _opened(data: bytes) -> tuple[dict[str, Any], memoryview]:
    """The description, and what comes after it."""
    line, _, _ = data[:200].partition(b"\n")
    words = line[len(MAGIC) :].split()
    if not line.startswith(MAGIC + b" ") or len(words) != 2:
        raise Damaged("it is no entry of this cache")
    body = memoryview(data)[len(line) + 1 :]
    if hashlib.sha256(body).hexdigest().encode() != words[0]:
        raise Damaged("its checksum is wrong")
    try:
        head = int(words[1])
        return json.loads(bytes(body[:head])), body[head:]
    except ValueError:  # the checksum does not cover that number
        raise Damaged("its first line is wrong") from None


def described(data: bytes) -> dict[str, Any]:
    """Return the description in an entry."""
    return _opened(data)[0]


def unpacked(data: bytes, key: str) -> tuple[dict[str, Any], list[CodeType], dict[str, Any]]:
    """Return description, code and arrays of the entry of a key; raise Damaged when it is not that."""
    about, rest = _opened(data)
    if about["key"] != key:
        raise Damaged("it belongs to another key")
    start = about["code bytes"]
    arrays = {}
    for name, (dtype, shape, order) in about["arrays"].items():
        kind = np.dtype(dtype)
        if order == "made":
            arrays[name] = np.eye(shape[0], dtype=kind) if len(shape) == 2 else np.arange(shape[0], dtype=kind)
            continue
        count = math.prod(shape)
        flat = np.frombuffer(rest, kind, count, start) if count else np.empty(0, kind)
        array = flat.reshape(shape, order=order).copy(order)
        arrays[name] = array if shape else array[()]
        start += count * kind.itemsize
    return about, marshal.loads(rest[: about["code bytes"]]), arrays
