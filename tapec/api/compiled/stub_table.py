"""Keep the call stubs of a compiled function: the newest first, older ones behind it."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from tapec.pytree import unflatten

__all__ = ["MISS", "Out", "Roads", "packed"]

_MOST = 4  # signatures that are told apart by generated code; others are looked up


class _Miss:
    """Stands for the result of code that is not for this call, and for an argument that is not given."""

    def __repr__(self) -> str:
        return "MISS"


MISS: Any = _Miss()


class Out:
    """Stands, in the template of a result, for the k-th output of the generated function."""

    __slots__ = ("k",)

    def __init__(self, k: int):
        self.k = k


def packed(tree: Any, leaves: list[Any], outputs: Any) -> Any:
    """Return the caller's result, made of the outputs of the generated code; `packer` generates code that does the
    same."""
    return unflatten(tree, [outputs[leaf.k] if type(leaf) is Out else leaf for leaf in leaves])


class Roads:
    """The roads of one function, the youngest first."""

    def __init__(self, slow: Callable[..., Any]):
        self._slow = slow
        self._known: list[tuple[Any, Callable[..., Any]]] = []
        self._gone = 0  # calls that roads took which are no more

    @property
    def first(self) -> Callable[..., Any]:
        """What a call goes to."""
        return self._known[0][1] if self._known else self._slow

    @property
    def hits(self) -> int:
        """The calls that roads took."""
        return self._gone + sum([_hits(road) for _, road in self._known])

    def add(self, program: Any, road: Callable[..., Any], before: Collection[Any]) -> None:
        """A new road, in place of those to what this program was before."""
        kept = [(p, r) for p, r in self._known if p not in before][: _MOST - 1]
        staying = [r for _, r in kept]
        self._gone += sum([_hits(r) for _, r in self._known if r not in staying])
        self._known = [(program, road), *kept]
        for (_, r), then in zip(self._known, [*staying, self._slow]):
            r.__globals__["_otherwise"] = then

    def clear(self) -> None:
        self._known = []
        self._gone = 0


def _hits(road: Callable[..., Any]) -> int:
    """The calls that a road took, which it counts in its one cell."""
    return road.__closure__[0].cell_contents  # type: ignore[index]
