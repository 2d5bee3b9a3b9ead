"""Put results together: the outputs of generated code come in, what the caller gets goes out.

A template is the structure of a result and its leaves: `Out(k)` for the k-th output, or a static value.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from tapec.pytree import Nested, build, build_text

__all__ = ["MISS", "Out", "key_in", "name_in", "packer", "result_text"]


MISS: Any = object()  # the result of code that is not for this call


class Out:
    """Stands, in the template of a result, for the k-th output of the generated function."""

    __slots__ = ("k",)

    def __init__(self, k: int):
        self.k = k


def packer(template: tuple[Any, list[Any]]) -> Callable[[Any], Any]:
    """A function from the outputs of the generated code to what the caller gets."""
    space: dict[str, Any] = {}
    exec(f"def pack(r): return {result_text(*template, space)}", space)
    return space["pack"]


def name_in(space: dict[str, Any], value: Any, stem: str) -> str:
    """Give a value a name in the space of generated code."""
    name = f"_{stem}{len(space)}"
    space[name] = value
    return name


def key_in(space: dict[str, Any], key: Any) -> str:
    """Return the text of a key."""
    return repr(key) if type(key) in (str, int) else name_in(space, key, "key")


def result_text(tree: Any, leaves: Any, space: dict[str, Any]) -> str:
    """The expression that builds a result from the tuple `r` of outputs."""

    def leaf(x: Any) -> str:
        if type(x) is Out:
            return f"r[{x.k}]"
        return "None" if x is None else name_in(space, x, "static")

    def other(t: Nested, parts: list[str]) -> str:
        space["_build"] = build
        return f"_build({name_in(space, t.kind, 'kind')}, {name_in(space, t.meta, 'meta')}, [{', '.join(parts)}])"

    return build_text(tree, map(leaf, leaves), partial(key_in, space), other)
