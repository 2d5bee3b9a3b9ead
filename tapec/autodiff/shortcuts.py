"""Derivatives of several operations taken as one, where the whole has a simpler one than its parts in turn.

1 / (1 + exp(-x)) has y * (1 - y), and so has the derivative of logaddexp, and what is put together from both sides of
zero with exp(-abs(x)), which is smooth there though its parts are not. Logarithms and roots of exp(x) / s, even of some
of its elements, need no quotient and cannot divide by one that is zero; nor does what is over an exponential multiply
by one that is infinite, and what is flat far out holds it to a number. log(abs(x)) has 1 / x, and log(cosh(x)) tanh(x),
which does not overflow. The square of a length has 2 * x, without a root. A power of a power is one power. Densities
have the powers of which they are products. Values between that have other uses get their cotangents from those.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from tapec.autodiff.cotangents import settled
from tapec.autodiff.densities import Density, is_power
from tapec.autodiff.logarithms import SHARES, SUMS, is_one, logarithm_of, one_plus_exp
from tapec.autodiff.monomials import Monomial, monomial_of, root_of
from tapec.autodiff.saturated import (
    FLAT,
    SLOPES,
    held_exponentials,
    is_exponential,
    is_held,
    leads_to_exponential,
    power_of_exponential,
)
from tapec.autodiff.squares import same, square_of
from tapec.autodiff.vanishing import NEVER, order
from tapec.autodiff.written import back_through, pushed_through
from tapec.ir import CT, Node, is_literal
from tapec.ops.elementwise import largest_number
from tapec.ops.layout import unbroadcast

__all__ = ["Shortcut", "shortcut", "unless_infinite"]


class Shortcut(NamedTuple):
    """Some operations as one."""

    inputs: tuple[Node, ...]
    inner: tuple[Node, ...]  # the values between
    vjp: Callable[..., tuple[Any, ...]]  # from ct, y and the inputs
    jvp: Callable[..., Any] | None  # from the tangents, y and the inputs
    flat: Node | None = None  # where this is infinite; tangents are then those of the last operation, without a rule


def shortcut(node: Node, apart: Collection[Node], uses: Mapping[Node, int] | None = None) -> Shortcut | None:
    """The shortcut that ends in this node, if there is one that skips none of the nodes in `apart`.

    `uses` are those of values in the user's program, where it matters.
    """
    find = _ENDS.get(node.op.name)
    if find is None or node.type.dtype.kind != "f":
        return None
    found = find(node)
    if found is None or any([n in apart for n in found.inner]):
        return None
    if found.flat is not None and uses is not None and any([uses[n] > 1 for n in found.inner if not is_exponential(n)]):
        return None  # cotangents should be gathered before they go on
    return found


def unless_infinite(x: Any, t: Any) -> Any:
    """What flows where x is a number: elsewhere it may be none itself, and what it meets is flat."""
    return np.where(np.isinf(x), 0, t)


# -- 1 / (1 + exp(u)), exp(u) / (1 + exp(u)) --------------------------------------------------------------------------
def _quotient(node: Node) -> Shortcut | None:
    return _logistic(node) or (_over_shifted(node) if node.op.name == "divide" else None) or _over_product(node)


def _logistic(node: Node) -> Shortcut | None:
    above, below = node.inputs if node.op.name == "divide" else (None, node.inputs[0])
    e = one_plus_exp(below)
    if e is None or e.type != node.type or leads_to_exponential(e.inputs[0]):
        return None
    if above is e:
        return _sigmoid(1, *e.inputs, below, e)
    if above is None or is_one(above):
        return _sigmoid(-1, *e.inputs, below, e)
    if above.op.name == "where":
        return _sigmoid_by_sides(above, below, e)
    return None


def _sigmoid(sign: int, u: Node, *inner: Node) -> Shortcut:
    def scaled(t: Any, y: Any) -> Any:
        slope = t * y * (1 - y)
        return slope if sign == 1 else -slope

    return Shortcut(
        inputs=(u,),
        inner=inner,
        vjp=lambda ct, y, u: (scaled(ct, y),),
        jvp=lambda ts, y, u: scaled(ts[0], y),
    )


def _sigmoid_by_sides(above: Node, below: Node, e: Node) -> Shortcut | None:
    """where(u >= 0, 1, e) / (1 + e) with e = exp(-abs(u)), or the other way round: smooth, though its parts are not."""
    u = _of_size(e)
    condition, *sides = above.inputs
    small = next((k for k in (0, 1) if is_one(sides[1 - k])), None)
    if u is None or small is None:
        return None
    again = _of_size(sides[small])  # computed once more, perhaps
    side = _side(condition, u)
    if again is None or not same(again, u) or not side:
        return None
    sign = side if small == 1 else -side

    def scaled(t: Any, e: Any, below: Any) -> Any:
        slope = t * (e / (below * below))  # y * (1 - y) would cancel
        return slope if sign == 1 else -slope

    return Shortcut(
        inputs=(u, e, below),
        inner=(above, below, e, *_between(e), sides[small], *_between(sides[small]), *_twin(again, u)),
        vjp=lambda ct, y, u, e, below: (scaled(ct, e, below), None, None),
        jvp=lambda ts, y, u, e, below: scaled(ts[0], e, below),
    )


def _side(condition: Node, u: Node) -> int:
    """On which side of zero is u where a condition holds? 0 where it says something else."""
    side = {"greater": 1, "greater_equal": 1, "less": -1, "less_equal": -1}.get(condition.op.name, 0)
    return side if side and same(condition.inputs[0], u) and _is_zero(condition.inputs[1]) else 0


def _of_size(e: Node) -> Node | None:
    """The u of exp(-abs(u))."""
    size = e.inputs[0].inputs[0] if e.op.name == "exp" and e.inputs[0].op.name == "negative" else None
    return size.inputs[0] if size is not None and size.op.name in ("absolute", "fabs") else None


def _between(e: Node) -> tuple[Node, Node]:
    return e.inputs[0], e.inputs[0].inputs[0]


def _twin(again: Node, u: Node) -> tuple[Node, ...]:
    """What was computed once more gets no cotangent of its own."""
    return () if again is u else (again,)


def _is_zero(node: Node) -> bool:
    return is_literal(node) and node.value == 0


# -- a / (exp(u) + c) -------------------------------------------------------------------------------------------------
def _over_shifted(node: Node) -> Shortcut | None:
    """The slope of log(exp(u) + c) is exp(u) / (exp(u) + c), where the exponential is held to a number: if it is none,
    the whole is nothing.
    """
    below = node.inputs[1]
    found = _shifted_exp(below)
    if found is None or below.type.dtype != node.type.dtype:
        return None
    u, e = found
    if leads_to_exponential(u):
        return None

    def share_of(t: Any, over: Any, *exp: Any) -> Any:
        """t * exp(u) / (exp(u) + c), from t / (exp(u) + c): in this order nothing underflows on the way."""
        return over * np.minimum(exp[0], largest_number(exp[0].dtype)) if exp else t + over

    def vjp(ct: Any, y: Any, a: Any, u: Any, below: Any, *exp: Any) -> tuple[Any, ...]:
        ct_a = ct / below
        ct_u = -(y * share_of(ct, ct_a, *exp))
        return ct_a, unbroadcast(ct_u, below.shape), *[None] * (1 + len(exp))

    def jvp(ts: Any, y: Any, a: Any, u: Any, below: Any, *exp: Any) -> Any:
        t_a, t_u = ts[:2]
        moved = [] if t_a is None else [t_a / below]
        if t_u is not None:
            moved.append(-(y * share_of(t_u, t_u / below, *exp)))
        return sum(moved[1:], moved[0])

    return Shortcut((node.inputs[0], u, below, *e), (below, *e), vjp, jvp)


def _shifted_exp(node: Node) -> tuple[Node, tuple[Node, ...]] | None:
    """The u of exp(u) + c, with the exponential; or of expm1(u)."""
    if node.op.name == "expm1":
        return node.inputs[0], ()
    if node.op.name not in ("add", "subtract"):
        return None
    a, b = node.inputs
    for e, c in ((a, b), (b, a)) if node.op.name == "add" else ((a, b),):
        if e.op.name == "exp" and is_literal(c):
            return e.inputs[0], (e,)
    return None


# -- max(u, 0) + log(1 + exp(-abs(u))), among other terms -------------------------------------------------------------
TERMS = 8
_SIGNS = {"add": (1, 1), "subtract": (1, -1), "negative": (-1,)}


class Softplus(NamedTuple):
    """One of u where `side` is 1, else of -u, which is added or taken away."""

    sign: int
    side: int
    u: Node
    e: Node  # exp(-abs(u))

    def scaled(self, t: Any, u: Any, e: Any) -> Any:
        slope = t * (np.where(u >= 0 if self.side == 1 else u <= 0, 1, e) / (1 + e))
        return slope if self.sign == self.side else -slope


def _softplus(node: Node) -> Shortcut | None:
    """Smooth, though at zero each of its parts has a slope by its own convention."""
    if all([_ramp(i) is None and _log_of_size(i) is None for i in node.inputs]):
        return None
    inner, rest = _terms(node)
    ramps = [(sign, term, *found) for sign, term in rest if (found := _ramp(term)) is not None]
    smooth = []
    for sign, term in tuple(rest):
        e = _log_of_size(term)
        u = None if e is None else _of_size(e)
        if e is None or u is None:
            continue
        for s, ramp, bound, of in ramps:
            turn, skipped = _turn(of, u)
            left = [(s, t) for s, t in rest if t is not term and t is not ramp]
            once = len(left) == len(rest) - 2
            if once and turn and s * bound == sign and _alike(u, term) and _alike(u, ramp):
                rest = left
                smooth.append(Softplus(sign, bound * turn, u, e))
                inner += [ramp, term, *term.inputs, e, *_between(e), *skipped]
                break
    return _with_softplus(smooth, rest, inner) if smooth else None


def _alike(a: Node, b: Node) -> bool:
    return a.type.shape == b.type.shape and a.type.dtype == b.type.dtype


def _with_softplus(smooth: Sequence[Softplus], rest: Sequence[tuple[int, Node]], inner: Sequence[Node]) -> Shortcut:
    n = len(smooth)

    def vjp(ct: Any, y: Any, *xs: Any) -> tuple[Any, ...]:
        slopes = [s.scaled(ct, u, e) for s, u, e in zip(smooth, xs, xs[n:])]
        return (*slopes, *[None] * n, *[ct if sign == 1 else -ct for sign, _ in rest])

    def jvp(ts: Any, y: Any, *xs: Any) -> Any:
        moved = [s.scaled(t, u, e) for s, t, u, e in zip(smooth, ts, xs, xs[n:]) if t is not None]
        moved += [t if sign == 1 else -t for (sign, _), t in zip(rest, ts[2 * n :], strict=True) if t is not None]
        return sum(moved[1:], moved[0])

    inputs = (*[s.u for s in smooth], *[s.e for s in smooth], *[t for _, t in rest])
    return Shortcut(inputs, tuple(inner), vjp, jvp)


def _terms(node: Node) -> tuple[list[Node], list[tuple[int, Node]]]:
    """The sums, differences and negatives within a sum, and its terms with their signs."""
    inner: list[Node] = []
    terms = [(1, node)]
    k = 0
    while k < len(terms) and len(terms) < TERMS:
        sign, term = terms[k]
        signs = _SIGNS.get(term.op.name, ())
        if signs and term.type == node.type:
            terms[k : k + 1] = [(sign * s, i) for s, i in zip(signs, term.inputs, strict=True)]
            inner.append(term)
        else:
            k += 1
    return inner[1:], terms


def _log_of_size(node: Node) -> Node | None:
    """The e of log(1 + e) with e = exp(-abs(u))."""
    if node.op.name not in ("log1p", "log"):
        return None
    e = node.inputs[0] if node.op.name == "log1p" else one_plus_exp(node.inputs[0])
    return e if e is not None and _of_size(e) is not None else None


def _ramp(node: Node) -> tuple[int, Node] | None:
    """1 and u of max(u, 0), or of where(u > 0, u, 0); -1 and u of min(u, 0), or of where(u < 0, u, 0)."""
    name = node.op.name
    if name in ("maximum", "minimum"):
        a, b = node.inputs
        u = a if _is_zero(b) else b if _is_zero(a) else None
        return None if u is None else (1 if name == "maximum" else -1, u)
    if name == "where":
        condition, u, zero = node.inputs
        if _is_zero(zero) and (side := _side(condition, u)):
            return side, u
    return None


def _turn(of: Node, u: Node) -> tuple[int, tuple[Node, ...]]:
    """1 if they are the same, -1 if one is the negative of the other, else 0; and what lies between them."""
    if same(of, u):
        return 1, _twin(of, u)
    if of.op.name == "negative" and same(of.inputs[0], u):
        return -1, (of, *_twin(of.inputs[0], u))
    if u.op.name == "negative" and same(of, u.inputs[0]):
        return -1, _twin(of, u.inputs[0])
    return 0, ()


# -- log(abs(u)), log(cosh(u)) ----------------------------------------------------------------------------------------
_SLOPES: dict[str, Callable[[Any, Any], Any]] = {"absolute": np.divide, "cosh": lambda t, u: t * np.tanh(u)}


def _log(node: Node) -> Shortcut | None:
    (value,) = node.inputs
    slope = _SLOPES.get(value.op.name)
    if slope is None or value.inputs[0].type.dtype.kind != "f":
        return _logarithm(node)
    return Shortcut(
        inputs=value.inputs,
        inner=(value,),
        vjp=lambda ct, y, u: (slope(ct, u),),
        jvp=lambda ts, y, u: slope(ts[0], u),
    )


# -- functions of exp(u) / s, and of other products with exponentials -------------------------------------------------
Slope = Callable[..., Any]  # from y and the operands: the derivative along the logarithm of one of these
_ROOTS: dict[str, Slope] = {
    "sqrt": lambda y, x: y * 0.5,
    "cbrt": lambda y, x: y * (1 / 3),
    **dict.fromkeys(["power", "float_power"], lambda y, x, n: y * n),
}
_LOGARITHMS: dict[str, Slope] = {
    "log": lambda y, x: 1,
    "log2": lambda y, x: 1 / math.log(2.0),
    "log10": lambda y, x: 1 / math.log(10.0),
    "scipy.special.xlogy": lambda y, a, x: a,
    "scipy.special.rel_entr": lambda y, a, x: -a,
}
_QUOTIENTS: dict[str, Slope] = {"divide": lambda y, a, x: -y, "reciprocal": lambda y, x: -y}


def _root(node: Node) -> Shortcut | None:
    exponent = node.inputs[-1]
    below = len(node.inputs) == 2 and is_literal(exponent) and exponent.value < 0
    also = (SHARES, SUMS) if below else (SHARES,)
    by_logarithm = _along_logarithm(node, 0, _ROOTS[node.op.name], also, split=True)
    return by_logarithm or _one_power(monomial_of(node)) or _flat_root(node)


def _logarithm(node: Node) -> Shortcut | None:
    weighted = len(node.inputs) == 2  # by a number that may be zero
    return _along_logarithm(node, len(node.inputs) - 1, _LOGARITHMS[node.op.name], split=weighted)


def _over_product(node: Node) -> Shortcut | None:
    return _along_logarithm(node, len(node.inputs) - 1, _QUOTIENTS[node.op.name], (SUMS,))


def _along_logarithm(
    node: Node, operand: int, slope: Slope, also: Collection[str] = (), split: bool = False
) -> Shortcut | None:
    """A function of a product, by the logarithm of that, and by itself where the latter leaves factors out."""
    found = logarithm_of(node.inputs[operand], node, also, split)
    if found is None:
        return None
    log, direct, sums = found
    if direct is not None and _is_flat(node):
        direct = None
    n = len(node.inputs)
    m = n + len(log.inputs)
    asked = [direct is not None if k == operand else not is_literal(i) for k, i in enumerate(node.inputs)]

    def vjp(ct: Any, y: Any, *xs: Any) -> tuple[Any, ...]:
        from tapec.autodiff.reverse import scaled, signed_cotangents  # which asks for shortcuts

        parts = signed_cotangents(node, ct, y, xs[:n], asked) if any(asked) else (None,) * n
        others = [part if a and k != operand else None for k, (part, a) in enumerate(zip(parts, asked, strict=True))]
        along = back_through(log, settled(scaled(ct, slope(y, *xs[:n]))), xs[n:m])
        return (*others, *along, *(() if direct is None else back_through(direct, parts[operand], xs[m:])))

    def jvp(ts: Any, y: Any, *xs: Any) -> Any:
        from tapec.autodiff.forward import summed  # likewise

        moving = [t if a else None for t, a in zip(ts, asked)]
        moving[operand] = None if direct is None else pushed_through(direct, ts[m:], xs[m:])
        along = pushed_through(log, ts[n:m], xs[n:m])
        return summed([_tangent(node, moving, y, xs), None if along is None else along * slope(y, *xs[:n])])

    inputs = (*node.inputs, *log.inputs, *(() if direct is None else direct.inputs))
    if sums:
        return Shortcut(inputs, log.inner, vjp, None, node.inputs[operand])
    return Shortcut(inputs, log.inner, vjp, jvp)


def _tangent(node: Node, ts: list[Any], y: Any, xs: Sequence[Any]) -> Any:
    from tapec.autodiff.forward import tangent  # which asks for shortcuts

    known = {node: y.node, **{i: x.node for i, x in zip(node.inputs, xs)}}
    return tangent(y.builder, node, ts, known.__getitem__) if any([t is not None for t in ts]) else None


# -- tanh(exp(u)) and the like ----------------------------------------------------------------------------------------
def _flat(node: Node) -> Shortcut | None:
    """A function that is flat far out, with exponentials that are numbers in what it is made of."""
    found = held_exponentials(node.inputs[0], node)
    if found is None:
        return None

    def vjp(ct: Any, y: Any, x: Any, *xs: Any) -> tuple[Any, ...]:
        from tapec.autodiff.reverse import signed_cotangents  # which asks for shortcuts

        (part,) = signed_cotangents(node, ct, y, (x,), [True])
        return None, *back_through(found, settled(part), xs)

    return Shortcut((*node.inputs, *found.inputs), found.inner, vjp, None, node.inputs[0])


def _held(node: Node) -> Shortcut | None:
    """The slope of an exponential that is held to a number is made of that: others have none where it is infinite."""
    e = node.inputs[0]
    found = power_of_exponential(e)
    if found is None:
        return None
    power, inner = found
    exponential = inner[-1]

    def scaled(t: Any, y: Any) -> Any:
        moved = t * SLOPES[exponential.op.name](y)
        return moved if power == 1 else moved * power

    return Shortcut(
        inputs=(*exponential.inputs, e),
        inner=tuple(inner),
        vjp=lambda ct, y, u, e: (scaled(ct, y), None),
        jvp=lambda ts, y, u, e: unless_infinite(e, scaled(ts[0], y)),
    )


# -- exp(xlogy(k, x) + ...) -------------------------------------------------------------------------------------------
def _density(node: Node) -> Shortcut | None:
    """One that a rule has made: the user's own are differentiated by their logarithm, with one exponential."""
    if node.role is not CT:
        return None
    inner, terms = _terms(node.inputs[0])
    if not any([sign == 1 and is_power(term) for sign, term in terms]):
        return None
    density = Density(terms)

    def vjp(ct: Any, y: Any, *xs: Any) -> tuple[Any, ...]:
        return tuple([None if slope is None else ct * slope for slope in density.slopes(y, xs)])

    def jvp(ts: Any, y: Any, *xs: Any) -> Any:
        slopes = zip(ts, density.slopes(y, xs), strict=True)
        moved = [t * slope for t, slope in slopes if t is not None and slope is not None]
        return sum(moved[1:], moved[0]) if moved else None

    return Shortcut(density.inputs, (node.inputs[0], *inner, *density.powers), vjp, jvp)


# -- norm(x) ** 2 and the like ----------------------------------------------------------------------------------------
def _power(node: Node) -> Shortcut | None:
    exponent = node.inputs[1]
    k = exponent.value if is_literal(exponent) else None
    if k == -1:
        return _logistic(node) or _root(node)
    return _product(node) if _is_whole(k) else _root(node)


def _is_whole(k: Any) -> bool:
    return type(k) in (int, float) and k >= 0 and k % 1 == 0


def _product(node: Node) -> Shortcut | None:
    power = monomial_of(node)
    square = _square(node) if power is None or power.exponent == 1 else None
    return square or _one_power(power)


def _square(node: Node) -> Shortcut | None:
    found = square_of(node)
    if found is None:
        return None
    if found.result.op.name == "square":  # of abs(z)
        return Shortcut(
            inputs=found.inputs,
            inner=found.inner,
            vjp=lambda ct, y, z: (ct * 2 * z,),
            jvp=lambda ts, y, z: np.real(np.conj(z) * ts[0]) * 2,
        )
    return Shortcut(
        inputs=found.inputs,
        inner=found.inner,
        vjp=lambda ct, y, *xs: back_through(found, ct, xs),
        jvp=lambda ts, y, *xs: pushed_through(found, ts, xs),
    )


# -- x * sqrt(x), sqrt(x ** 4) ----------------------------------------------------------------------------------------
def _one_power(found: Monomial | None) -> Shortcut | None:
    if found is None:
        return None
    power = found.between()
    given = () if power is None else (power,)

    def vjp(ct: Any, y: Any, *xs: Any) -> tuple[Any, ...]:
        from tapec.autodiff.reverse import scaled  # which asks for shortcuts

        return scaled(ct, found.slope(*xs)), *[None] * len(given)

    return Shortcut(
        inputs=(found.base, *given),
        inner=tuple([i for i, *_ in found.inner]),
        vjp=vjp,
        jvp=lambda ts, y, *xs: ts[0] * found.slope(*xs),
    )


# -- sqrt(sum(x ** 4)), sqrt(1 - tanh(x)) -----------------------------------------------------------------------------
def _flat_root(node: Node) -> Shortcut | None:
    u, n = node.inputs[0], root_of(node)
    if u.type != node.type or not _is_flat(node):
        return None

    def scaled(t: Any, y: Any, u: Any) -> Any:
        if n == 0.5:
            return t * (0.5 / np.where(y == 0, np.inf, y))
        return t * (y * n / np.where(u == 0, np.inf, u))

    return Shortcut(
        inputs=(u,),
        inner=(),
        vjp=lambda ct, y, u: (scaled(ct, y, u),),
        jvp=lambda ts, y, u: scaled(ts[0], y, u),
    )


def _is_flat(node: Node) -> bool:
    """Has a root no slope where it is zero, though it is infinitely steep in its operand? One in a derivative stands
    beside the slope of its operand: there the product of both has none.
    """
    n = root_of(node)
    times = 0.0 if n is None else order(node.inputs[0])
    return n is not None and times != NEVER and (n * times > 1 or (node.role is CT and (n + 1) * times > 2))


# -- min(exp(b - logaddexp(a, b)), 1) ---------------------------------------------------------------------------------
_SCALES = {"exp": ("logaddexp", 1.0), "exp2": ("logaddexp2", math.log(2.0))}


def _share(node: Node) -> Shortcut | None:
    """The share of exp(b) in exp(a) + exp(b), with bounds for infinities, as in the derivative of logaddexp."""
    e, most = node.inputs
    if not (is_one(most) or most.op.name == "where") or e.op.name not in _SCALES or e.inputs[0].op.name != "subtract":
        return None
    name, scale = _SCALES[e.op.name]
    b, bounded = e.inputs[0].inputs
    if bounded.op.name != "clip" or bounded.inputs[0].op.name != name:
        return None
    whole = bounded.inputs[0]
    if b not in whole.inputs or not whole.type == b.type == node.type:
        return None
    a = whole.inputs[0] if whole.inputs[1] is b else whole.inputs[1]

    def slope(t: Any, y: Any) -> Any:
        return t * (y * (1 - y)) if scale == 1 else t * (y * (1 - y) * scale)

    def vjp(ct: Any, y: Any, a: Any, b: Any) -> tuple[Any, ...]:
        ct_b = slope(ct, y)
        return -ct_b, ct_b

    def jvp(ts: Any, y: Any, a: Any, b: Any) -> Any:
        t_a, t_b = ts
        return slope(t_b if t_a is None else -t_a if t_b is None else t_b - t_a, y)

    return Shortcut((a, b), (e, e.inputs[0], bounded, whole), vjp, jvp)


_ENDS: dict[str, Callable[[Node], Shortcut | None]] = {
    **dict.fromkeys(["add", "subtract"], _softplus),
    "divide": _quotient,
    "reciprocal": _quotient,
    **dict.fromkeys(_LOGARITHMS, _logarithm),
    "log": _log,
    **dict.fromkeys(["sqrt", "cbrt"], _root),
    **dict.fromkeys(["power", "float_power"], _power),
    "square": _product,
    "multiply": _product,
    "minimum": lambda node: _held(node) if is_held(node) else _share(node),
    **dict.fromkeys(FLAT, _flat),
    "exp": lambda node: _density(node) or _flat(node),
}
