"""Check the gradient against values alone: complex step or extrapolated differences, along random directions."""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

import tapec
from tapec.api.compiled.checks.direction_check import Verdict, check_direction
from tapec.api.compiled.signature import Binder
from tapec.api.transforms.check_grads import map_numbers, numbers
from tapec.cli import tuning
from tapec.cli.error_messages import Problem
from tapec.cli.inspected_program import add_target, arguments_of, undecorated
from tapec.cli.target import as_if_there, load_target
from tapec.cli.terminal import show, show_json, styled, table, working
from tapec.cli.transform_options import argnums_of, positions_of
from tapec.errors import TapecWarning
from tapec.pytree import flatten, leaves_of, paths, unflatten
from tapec.trace.function.call_adapter import Adapter

HELP = "check the gradient against differences"
EXAMPLES = """\
examples:
  tapec check model.py:loss                          exit code 1 when a gradient is wrong: for CI
  tapec check model.py:loss --wrt w --directions 20
  tapec check model.py:loss --transform hessian      the gradient's own derivative (jvp, jacfwd: forward mode)
  tapec check model.py:loss --json

A kink (abs at 0, a tie in max) is no error: the gradient must lie between the slopes to its sides."""

_ORDER = ("ok", "kink", "undefined", "wrong")
_STYLES = {"ok": "good", "kink": "note", "undefined": "bad", "wrong": "bad"}


def configure(parser: argparse.ArgumentParser) -> None:
    add_target(parser, wrt="all that have a gradient")
    parser.add_argument("--directions", type=int, default=5, help="random directions for each argument (default: 5)")
    parser.add_argument("--seed", type=int, default=0, help="of the random directions (default: 0)")
    parser.add_argument("--json", action="store_true", help="for programs")


def run(options: argparse.Namespace) -> int:
    with warnings.catch_warnings():  # the arguments that are not checked are held by `Checked`, and nobody changes them
        warnings.filterwarnings("ignore", "at_.* uses an array", TapecWarning)
        return check(options)


def check(options: argparse.Namespace) -> int:
    if options.directions < 1:
        raise Problem("--directions must be at least 1")
    target = load_target(options.target)
    args, kwargs = arguments_of(target, options.args)
    function, _ = undecorated(target.function)
    wrt = options.wrt
    if wrt is not None and target.graph is not None:
        wrt = positions_of(target.graph, wrt)
    if options.transform == "vmap":
        raise Problem("vmap computes no derivative: check the function itself")
    checked = as_if_there(function, lambda: Checked(function, args, kwargs, wrt, options.transform))
    if not checked.is_steady():
        raise Problem(
            f"{target.word} gives another value at each call, so there is nothing to hold its gradient against"
        )
    rng = np.random.default_rng(options.seed)
    with working("checking"):
        drawn: dict[str, list[Any]] = {}
        found: dict[str, list[Verdict]] = {}
        for name, k in checked.leaves():
            drawn[name] = [_direction(checked.values[k], rng) for _ in range(options.directions)]
            found[name] = [checked.check(k, v) for v in drawn[name]]
    worst = {name: max(verdicts, key=_badness) for name, verdicts in found.items()}
    good = all(v.status in ("ok", "kink") for v in worst.values())
    along = {name: found[name].index(v) for name, v in worst.items()}
    directions = {name: drawn[name][k] for name, k in along.items()}
    if options.json:
        told = {name: {**v._asdict(), "direction": directions[name]} for name, v in worst.items()}
        show_json({"ok": good, "directions": options.directions, "seed": options.seed, "arguments": told})
        return 0 if good else 1
    show(table([row(name, v) for name, v in worst.items()], ("argument", "", "gradient", "measured", "error", "by")))
    for name, v in worst.items():
        if v.status in ("wrong", "undefined"):
            show(styled(complaint(target.word, name, v), "bad"))
            if v.status == "wrong":
                show(f"  the direction, {along[name] + 1} of {options.directions}: {shortly(directions[name])}")
    show(styled(about_directions(options.directions, options.seed), "dim"))
    return 0 if good else 1


def about_directions(count: int, seed: int) -> str:
    many = f"{count} random directions each, of which the worst is shown" if count > 1 else "one random direction each"
    return f"derivatives along {many}: standard normal, --seed {seed}"


def shortly(value: Any) -> str:
    with np.printoptions(threshold=12, edgeitems=3, precision=4):
        return " ".join(str(value).split())


def _badness(v: Verdict) -> tuple[int, float]:
    """Return a key to find the worst direction.

    Where only rounding is left, all directions are equal, and the first is taken: on all machines the same.
    """
    return _ORDER.index(v.status), v.error if v.error > tuning.ROUNDING_ERROR else 0.0


def row(name: str, v: Verdict) -> list[str]:
    error = "" if v.status == "kink" else f"{v.error:.1e}"
    return [name, styled(v.status, _STYLES[v.status]), f"{v.predicted:.8g}", f"{v.measured:.8g}", error, v.how]


def complaint(word: str, name: str, v: Verdict) -> str:
    if v.status == "undefined":
        return f"{word}: near these arguments there are values that are not finite, so nothing is known about {name}"
    what = f"the gradient with respect to {name} is wrong"
    return f"{word}: {what}: along a random direction it says {v.predicted!r}, not {v.measured!r}"


class Checked:
    """Holds a function at its arguments: its value as a number (a random combination if it has many), and its gradient.

    For a Hessian the function is the gradient.
    """

    def __init__(
        self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], wrt: str | None, transform: str | None
    ):
        self.unflatten, self.numbers = unflatten, numbers
        binder = Binder(function)
        bound, self.kwargs = binder.bind(args, kwargs)
        self.function, self.args = function, bound
        self.which = _arguments(binder, bound, self.kwargs, wrt)
        self.forward = transform in ("jacfwd", "jvp", "hessian", "hvp")
        checked = tuple(range(len(self.which)))
        self.value = tapec.grad(self.at, argnums=checked) if transform in ("hessian", "hvp") else self.at
        values = tuple(bound[k] for k in self.which)
        try:
            out, pullback = tapec.vjp(self.value, *values)
        except tapec.DetachError:  # one that fills arrays is traced as what it is, not as what a method calls
            names = [f"x{k}" for k in checked]
            traced: Any = Adapter(lambda f, *given: f(*self.filled(given), **self.kwargs), function, parameters=names)
            self.value = tapec.grad(traced, argnums=checked) if transform in ("hessian", "hvp") else traced
            out, pullback = tapec.vjp(self.value, *values)
        if not numbers(out):
            raise Problem(f"the function returned {out!r:.60}, which holds no real or complex number")
        rng = np.random.default_rng(1)
        self.weights = map_numbers(lambda y: _direction(y, rng), out)
        gradient = pullback(self.weights)
        self.names = [n for k in self.which for n in paths(bound[k], binder.name_of(k))]
        self.values: list[Any] = []
        self.tree = flatten(values, self.values)
        self.gradients = leaves_of(gradient if len(values) > 1 else (gradient,))

    def at(self, *values: Any) -> Any:
        """The function of the arguments that are checked."""
        return self.function(*self.filled(values), **self.kwargs)

    def filled(self, values: Sequence[Any]) -> list[Any]:
        """Return all arguments, with these values in the places of those that are checked."""
        args = list(self.args)
        for k, v in zip(self.which, values):
            args[k] = v
        return args

    def number(self, leaves: list[Any]) -> Any:
        """Return one number made of all results."""
        return self.weighed(self.value(*self.unflatten(self.tree, leaves)))

    def weighed(self, out: Any) -> Any:
        return sum(np.sum(np.conj(w) * y) for w, y in zip(self.numbers(self.weights), self.numbers(out)))

    def is_steady(self) -> bool:
        """Return whether the function gives the same value twice."""
        return bool(np.array_equal(self.number(self.values), self.number(self.values), equal_nan=True))

    def leaves(self) -> Iterator[tuple[str, int]]:
        """The name of each leaf that has a gradient, and its number."""
        for k, (name, value) in enumerate(zip(self.names, self.values)):
            if np.asarray(value).dtype.kind in "fc":
                yield name, k

    def check(self, k: int, v: Any) -> Verdict:
        """Check a leaf along a direction."""
        value = np.asarray(self.values[k])
        predicted = self.pushed(k, v) if self.forward else np.sum((np.conj(self.gradients[k]) * v).real)
        size = float(np.max(np.abs(value), initial=0.0)) or 1.0

        def along(t: complex) -> Any:
            moved = value + t * v if isinstance(t, complex) and t.imag else (value + t * v).astype(value.dtype)
            return self.number([*self.values[:k], moved[()], *self.values[k + 1 :]])

        by_steps = along if value.dtype.kind == "f" else _real_steps(along)
        return check_direction(by_steps, predicted, float(np.finfo(value.dtype).eps), size)

    def pushed(self, k: int, v: Any) -> Any:
        """The derivative along v by forward mode."""
        tangents = [x if np.asarray(x).dtype.kind not in "fc" else 0 * x for x in self.values]
        tangents[k] = v
        primals = self.unflatten(self.tree, self.values)
        return np.real(self.weighed(tapec.jvp(self.value, primals, self.unflatten(self.tree, tangents))[1]))


def _real_steps(along: Any) -> Any:
    """Refuse the complex step: for complex arguments it gives another derivative."""

    def only_real(t: complex) -> Any:
        if isinstance(t, complex):
            raise TypeError("real steps only")
        return np.real(along(t))

    return only_real


def _direction(x: Any, rng: np.random.Generator) -> Any:
    x = np.asarray(x)
    v = rng.standard_normal(x.shape)
    return (v + 1j * rng.standard_normal(x.shape) if x.dtype.kind == "c" else v).astype(x.dtype)[()]


def _arguments(binder: Any, args: tuple[Any, ...], kwargs: dict[str, Any], wrt: str | None) -> list[int]:
    """Return positions of the arguments to check: those of --wrt, or all that hold real or complex numbers."""
    if wrt is not None:
        wanted = argnums_of(wrt)
        keys = [binder.resolve(w, len(args), kwargs) for w in (wanted if isinstance(wanted, tuple) else (wanted,))]
        if any(isinstance(k, str) for k in keys):
            raise Problem("--wrt: check takes positional arguments only")
        return keys
    found = [k for k, a in enumerate(args) if numbers(a)]
    if not found:
        raise Problem("none of the arguments holds a real or complex number, so there is no gradient to check")
    return found
