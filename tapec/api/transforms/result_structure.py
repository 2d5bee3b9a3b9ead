"""Build structures of derivatives: a result's structure, with that of the arguments in the place of each leaf."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tapec.api.compiled.packing import Out
from tapec.api.compiled.signature import Arguments
from tapec.api.compiled.transform import Template
from tapec.api.transforms.compile_and_grad import Wrt, gradient_template
from tapec.errors import at_user_line
from tapec.pytree import LEAF, Nested, count_leaves

__all__ = ["checked_mode", "grafted", "hessian_template", "numbered", "split_aux"]


def checked_mode(what: str, mode: str) -> str:
    if mode not in ("reverse", "forward", "auto"):
        raise ValueError(at_user_line(f"{what}: mode must be 'reverse', 'forward' or 'auto', not {mode!r}"))
    return mode


def split_aux(what: str, info: Arguments, has_aux: bool) -> tuple[Any, list[Any], Any]:
    """The structure of the result and its leaves, and the structure of what is auxiliary (None when nothing is)."""
    tree = info.result
    if not has_aux:
        return tree, list(info.statics), None
    if tree is LEAF or tree.kind is not tuple or len(tree.children) != 2:
        raise TypeError(at_user_line(f"{what} with has_aux=True: the function must return a pair (result, aux)"))
    return tree.children[0], list(info.statics[: count_leaves(tree.children[0])]), tree.children[1]


def grafted(tree: Any, parts: list[Template]) -> Template:
    """A template in the place of each leaf of a structure."""
    return _graft(tree, iter(parts)), [leaf for _, leaves in parts for leaf in leaves]


def _graft(tree: Any, parts: Iterator[Template]) -> Any:
    if tree is LEAF:
        return next(parts)[0]
    return Nested(tree.kind, tree.meta, tuple([_graft(c, parts) for c in tree.children]))


def hessian_template(info: Arguments, plan: Wrt) -> Template:
    """Put in the place of each gradient the template of its own gradients."""
    tree, leaves = gradient_template(info, plan, 0)
    width = len(plan.inputs)
    return grafted(tree, [(LEAF, [None]) if s is None else gradient_template(info, plan, s.k * width) for s in leaves])


def numbered(statics: Any, k: int) -> list[Any]:
    out = []
    for s in statics:
        out.append(Out(k) if s is LEAF else s)
        k += s is LEAF
    return out
