"""A rewrite rule is data that the engine in `rewrite.py` applies.

    Rule("negative-of-negative", -(-x), lambda x: x)
    Rule("power-half", x**0.5, np.sqrt(x), when=lambda x: is_nonnegative(x), changes="rounding")
    Rule("power-3", x**3, lambda x: x * x * x, changes="rounding")

A replacement is a pattern, or a function in NumPy on symbols; a condition (`when`) is a function of nodes. Both name as
their parameters the pattern's variables, whose values they are called with, and `y` for the whole. A condition may also
take `uses`, which counts the uses of a node, and `walk`, which knows what operations there are; a replacement may take
`fact`, which is what the condition returned. A replacement may return None to decline; what can be told before belongs
in the condition, since the walk over a program begins at the first node where a rule may fire.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from functools import cache
from typing import Any

from tapec.ir import Builder, Node, get_op
from tapec.ir.pattern import Call, Number, Pattern, Variable
from tapec.ops import Symbol

__all__ = ["Rule"]

CHANGES = ("", "rounding", "zeros", "fast-math")


class Rule:
    """A rule is a pattern, its replacement, and the conditions under which it fires.

    `only="cotangents"`: only where all nodes of the pattern were made by derivative rules.
    `once`: only if nothing else uses the nodes below the root.
    `kinds`: the dtype kinds that all nodes of the pattern must have.
    `least`: how many elements the result must have.
    `smaller`: two variables, operands of one node; only if the first has fewer elements than the second.
    `alike`: only if all floats that meet have the dtype of the result; else two of fewer digits might meet first.
    `changes`: what may differ in the result. Nothing: equal bit for bit. "rounding": the last digits, or the order in
    which sums are added up; among cotangents also that of products, of which one may overflow that did not. "zeros":
    also the signs of zeros, a zero known to be one stays one whatever it is multiplied by, and where infinities met
    there may be something else than nan; only among cotangents. "fast-math": what holds for numbers but not for nan,
    inf, overflow; such a rule runs only when the setting is on.
    """

    __slots__ = (
        "alike",
        "asks",
        "changes",
        "kinds",
        "least",
        "name",
        "once",
        "only",
        "pattern",
        "replacement",
        "smaller",
        "when",
    )

    def __init__(
        self,
        name: str,
        pattern: Any,  # a Pattern; Any, since NumPy's stubs do not know that its functions give patterns
        replacement: Any,  # Pattern, or a function
        when: Callable[..., Any] | None = None,
        only: str | None = None,
        once: bool = False,
        kinds: str = "f",
        changes: str = "",
        least: int = 0,
        alike: bool = False,
        smaller: tuple[str, str] | None = None,
    ):
        if changes not in CHANGES or only not in (None, "cotangents"):
            raise ValueError(f"rule {name}: {changes!r}, {only!r}")
        self.name, self.pattern, self.replacement, self.when = name, pattern, replacement, when
        self.only, self.once, self.kinds, self.changes, self.least = only, once, kinds, changes, least
        self.alike, self.smaller = alike, smaller
        self.asks = () if when is None else parameters(when)

    def with_single_use(self) -> Rule:
        """Return a copy of the rule that fires only if nothing else uses the nodes below the root."""
        found = copy(self)
        found.once = True
        return found

    def allows(self, inner: list[Node], found: dict[str, Any], walk: Any) -> Any:
        """Return what the condition says of these nodes of the pattern, the root first, and these values of variables.

        A falsy result means that the rule must not fire. What the condition returns is put among the values as `fact`.
        """
        kinds, only = self.kinds, self.only
        for node in inner:
            if node.type.dtype.kind not in kinds or (only is not None and node.role is None):
                return False
        if self.once:
            of = walk.uses.of
            for node in inner[1:]:
                if of(node) > 1:
                    return False
        if self.alike and not _equally_precise(inner[0], found):
            return False
        if self.when is None:
            return True
        given = []
        for n in self.asks:
            given.append(inner[0] if n == "y" else walk.uses.of if n == "uses" else walk if n == "walk" else found[n])
        fact = found["fact"] = self.when(*given)
        return fact

    def build(self, node: Node, found: dict[str, Any], builder: Builder) -> Node | None:
        """Make the replacement in the builder, and return it; None when the replacement declines."""
        if isinstance(self.replacement, Pattern):
            return built(self.replacement, found, builder)
        given = [node if n == "y" else found[n] for n in parameters(self.replacement)]
        result = self.replacement(*[Symbol(v, builder) if type(v) is Node else v for v in given])
        if result is None:
            return None
        return result.node if type(result) is Symbol else builder.constant(result)


def _equally_precise(y: Node, found: dict[str, Any]) -> bool:
    """Return whether all floats that meet in a match have the dtype of the result."""
    want = y.type
    for value in found.values():
        if type(value) is Node:
            t = value.type
            if t is not want and t.dtype != want.dtype and not t.weak and t.dtype.kind in "fc":
                return False
    return True


@cache
def parameters(function: Any) -> tuple[str, ...]:
    """Return the names of the parameters of a condition or a replacement: variables, `y`, `uses`, `walk`, `fact`."""
    code = function.__code__
    return code.co_varnames[: code.co_argcount]


def built(pattern: Pattern, found: dict[str, Any], builder: Builder) -> Node:
    """Make the node that a pattern describes, and return it."""
    if type(pattern) is Variable:
        return found[pattern.name]
    if type(pattern) is Call:
        return builder.emit(get_op(pattern.name), tuple([built(a, found, builder) for a in pattern.args]))
    if type(pattern) is Number:
        return builder.constant(pattern.value if pattern.name is None else found[pattern.name])
    raise TypeError(f"{pattern!r} is no replacement")
