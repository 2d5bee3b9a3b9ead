"""Check after each line that its values are finite. Such code keeps every value, to show the operands."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapec.codegen import tuning
from tapec.codegen.common.expressions import Expr, parse_template
from tapec.codegen.common.statements import Do
from tapec.errors import NonFiniteError
from tapec.ir import Node, is_literal
from tapec.ir.source_location import place_of

__all__ = ["check_of", "finite"]


def finite(line: str, name: str, value: Any, /, **operands: Any) -> None:
    """Raise NonFiniteError when a line has made a nan of numbers, or an infinity of finite ones."""
    x = np.asarray(value)
    if x.dtype.kind not in "fc" or np.isfinite(x).all():
        return
    kind = "nan" if np.isnan(x).any() else "inf"
    given = [np.asarray(v) for v in operands.values()]
    before = np.isnan if kind == "nan" else _not_finite
    if any(v.dtype.kind in "fc" and before(v).any() for v in given):
        return  # an operand had it already
    raise NonFiniteError(_message(line, name, x, kind, operands))


def _not_finite(x: Any) -> Any:
    return ~np.isfinite(x)


def _message(line: str, name: str, x: Any, kind: str, operands: dict[str, Any]) -> str:
    bad = ~np.isfinite(x)
    at = tuple([int(k) for k in np.argwhere(bad)[0]])
    where = f"{int(bad.sum())} of {x.size} elements, the first at [{', '.join(map(str, at))}]" if x.ndim else ""
    head = f"{line}: {name} is {kind}{f' ({where})' if where else ''}"
    shown = [f"  {operand} = {_shown(np.asarray(v), at, x.shape)}" for operand, v in operands.items()]
    return "\n".join([head, *shown])


def _shown(v: Any, at: tuple[int, ...], shape: tuple[int, ...]) -> str:
    """Show a small operand whole; of a large one its range, and the element where the result went wrong."""
    if v.size <= tuning.SHOWN_MAX_ELEMENTS:
        return np.array2string(v, separator=", ") if v.ndim else str(v)
    text = f"{v.dtype}{list(v.shape)} between {np.nanmin(v):.6g} and {np.nanmax(v):.6g}"
    return f"{text}, {v[at]:.6g} there" if v.shape == shape else text


def check_of(node: Node, name: str, leaves: tuple[Node, ...], called: dict[Node, str]) -> Do | None:
    """Return the line that checks a value, or None where nothing can go wrong."""
    if node.type.dtype.kind not in "fc" or any(map(_is_nonfinite_literal, node.inputs)):
        return None
    operands = [called[leaf] for leaf in dict.fromkeys(leaves) if leaf in called]
    words = "".join(f", {o}=_{k + 1}" for k, o in enumerate(operands) if o != name)
    place = place_of(node.origin) if node.origin is not None else None
    line = f"{place.short} {place.text}".strip() if place is not None else "generated code"
    return Do(Expr(parse_template(f"finite({line!r}, {name!r}, _0{words})", len(operands) + 1), (name, *operands)))


def _is_nonfinite_literal(node: Node) -> bool:
    """Return whether a node is an inf or a nan that the user wrote: then the result is no surprise."""
    return is_literal(node) and not np.isfinite(node.value)
