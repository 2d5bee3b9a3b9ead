"""Hold what tapec makes of a program against plain NumPy and differences.

Each check returns None where all is right, and else what is wrong, of which the first word says the kind: `value`,
`gradient`, `tape`, `state`, `inputs`, `crash`. A refusal with an error of tapec's own is no defect: it is counted.
"""

from __future__ import annotations

import copy
import pickle
import re
import runpy
import tempfile
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import tapec
from tapec.errors import MismatchError, TapecError
from tests.generated.programs import Program, smaller

__all__ = ["ALL", "QUICK", "Refused", "check"]

STEP = 1e-6
# a tape's tensors are no arrays, each reading is another tensor, and np.array makes arrays of objects of them
OTHER_ON_TAPES = re.compile(r"\.real|np\.ndarray|x is y|np\.array\(\[.*\]\)\.dtype")
SEEDS = (0, 1, 2)  # arguments of one call after the other: other values, and other branches


class Refused(Exception):
    """tapec refused the program, with an error of its own."""


def check(program: Program, parts: Sequence[Callable[[Program], str | None]]) -> str | None:
    """Return the first thing that is wrong; raise Refused if nothing is, and tapec refuses a part."""
    refused = None
    for part in parts:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                wrong = part(program)
        except MismatchError as e:
            return f"value, as settings.check says: {str(e).splitlines()[0]}"
        except TapecError as e:
            refused = refused or f"{type(e).__name__}: {str(e).splitlines()[0]}"
            continue
        except Exception as e:  # any error but those above is a finding, unless its check cannot be made here
            if _is_of_objects(e, part):
                refused = refused or f"{type(e).__name__}: {str(e).splitlines()[0]}"
                continue
            return f"crash in {part.__name__}: {type(e).__name__}: {str(e).splitlines()[0] if str(e) else ''}"
        if wrong is not None:
            return wrong
    if refused is not None:
        raise Refused(refused)
    return None


def _is_of_objects(error: Exception, part: Any) -> bool:
    """Return whether NumPy refuses an array of tensors on a tape: its loops ask the elements for a method `sin`, and
    what `np.asarray` gives is read-only."""
    told = any(["np.stack" in note for note in getattr(error, "__notes__", ())])
    of_numpy = re.search("'float' object has no attribute|(array|destination) is read-only", str(error))
    return told or (part in (tape, tape_state) and of_numpy is not None)


def _fresh(args: Sequence[Any]) -> tuple[Any, ...]:
    """Return copies, of which those of one array are one."""
    copies = {id(a): a.copy() for a in args if isinstance(a, np.ndarray)}
    return tuple([copies.get(id(a), a) for a in args])


def _unlike(kind: str, got: Any, want: Any, rtol: float, atol: float) -> str | None:
    got, want = np.asarray(got), np.asarray(want)
    if got.shape != want.shape:
        return f"{kind}: shape {got.shape} for {want.shape}"
    largest = float(np.abs(want[np.isfinite(want)]).max(initial=1.0))
    if np.allclose(got, want, rtol=rtol, atol=atol * largest, equal_nan=True):
        return None
    return f"{kind}: {got.ravel()[:6]} for {want.ravel()[:6]}"


def _unlike_numpy(kind: str, got: Any, plain: Callable[..., Any], args: Sequence[Any]) -> str | None:
    """Compare a value with plain NumPy's; what inputs a few units in the last place off change as much is rounding."""
    want = plain(*_fresh(args))
    wrong = _unlike(kind, got, want, 1e-9, 1e-12)
    if wrong is None:
        return None
    for scale in (1 + 4e-16, 1 - 4e-16, 1 + 3e-15):
        moved = plain(*[a if isinstance(a, int) else a * scale for a in args])
        if abs(float(got) - float(want)) <= 10 * abs(float(moved) - float(want)):
            return None
    return wrong


def differences(f: Callable[..., Any], args: Sequence[Any], k: int, step: float = STEP) -> np.ndarray:
    """Return the derivative with respect to argument k by central differences."""
    base = np.asarray(args[k], float)
    out = np.empty(base.shape)
    for place in np.ndindex(base.shape):
        values = []
        for sign in (1, -1):
            moved = base.copy()
            moved[place] += sign * step
            given = list(_fresh(args))
            given[k] = moved if base.shape else float(moved)
            values.append(float(f(*given)))
        out[place] = (values[0] - values[1]) / (2 * step)
    return out


def _smooth(f: Callable[..., Any], args: Sequence[Any], k: int) -> np.ndarray | None:
    """Return differences, or None where the function is not smooth there, or too long to ask for each element."""
    if np.size(args[k]) > 24:
        return None
    try:
        slopes, halves = differences(f, args, k), differences(f, args, k, STEP / 3)
    except Exception:  # as below
        return None
    return slopes if np.allclose(slopes, halves, rtol=1e-4, atol=1e-5) else None


def _smooth_along(f: Callable[..., Any], args: Sequence[Any], directions: Sequence[Any]) -> float | None:
    """Return the derivative along a direction by differences, or None where the function is not smooth there."""

    def slope(step: float) -> float:
        up, down = [
            float(f(*[float(a + k * d) if type(a) is float else a + k * d for a, d in zip(args, directions)], args[3]))
            for k in (step, -step)
        ]
        return (up - down) / (2 * step)

    try:
        wide, narrow = slope(STEP), slope(STEP / 3)
    except Exception:  # beside these arguments the program may take a branch that raises, in plain NumPy
        return None
    return wide if abs(wide - narrow) <= 1e-4 * abs(wide) + 1e-5 else None


def value(program: Program) -> str | None:
    """Compare the results of compiled calls with NumPy's, and that inputs stay as they were."""
    plain, f = program.module()["f"], tapec.compile(program.module()["f"])
    for seed in (*SEEDS, 0):
        args = program.arguments(seed)
        given = _fresh(args)
        wrong = _unlike_numpy(f"value at arguments {seed}", f(*given), plain, args)
        if wrong is None and not all([np.array_equal(a, b) for a, b in zip(given, args)]):
            wrong = f"inputs changed at arguments {seed}"
        if wrong is not None:
            return wrong
    return None


def quick(program: Program) -> str | None:
    """Compare values and gradients of three calls of one function, the gradients along one direction."""
    plain, graded = program.module()["f"], tapec.value_and_grad(program.module()["f"], argnums=(0, 1, 2))
    for seed in (0, 1, 0):
        args = program.arguments(seed)
        got, parts = graded(*_fresh(args))
        wrong = _unlike_numpy(f"value beside the gradient at arguments {seed}", got, plain, args)
        if wrong is None:
            directions = [np.cos(np.arange(np.size(a)) + 1.0).reshape(np.shape(a)) for a in args[:3]]
            along, slope = (
                sum([np.sum(p * d) for p, d in zip(parts, directions)]),
                _smooth_along(plain, args, directions),
            )
            if slope is not None:
                wrong = _unlike(f"gradient along a direction at arguments {seed}", along, slope, 1e-3, 1e-4)
        if wrong is not None:
            return wrong
    return None


def gradient(program: Program) -> str | None:
    """Compare gradients with differences, and the two modes with each other."""
    plain, f = program.module()["f"], program.module()["f"]
    graded = tapec.value_and_grad(f, argnums=(0, 1, 2))
    for seed in (*SEEDS, 1):
        args = program.arguments(seed)
        got, parts = graded(*_fresh(args))
        wrong = _unlike_numpy(f"value beside the gradient at arguments {seed}", got, plain, args)
        if wrong is not None:
            return wrong
        for k, part in enumerate(parts):
            slopes = _smooth(plain, args, k)
            if slopes is not None:
                wrong = _unlike(f"gradient {k} at arguments {seed}", part, slopes, 2e-4, 2e-5)
                if wrong is not None:
                    return wrong
        inner = args[:3]
        directions = tuple([np.cos(np.arange(np.size(a)) + 1.0).reshape(np.shape(a)) for a in inner])
        along = float(sum([np.sum(p * d) for p, d in zip(parts, directions)]))
        pushed = tapec.jvp(lambda x, y, s, m=args[3]: f(x, y, s, m), _fresh(inner), directions)[1]
        wrong = _unlike(f"gradient by the two modes at arguments {seed}", pushed, along, 1e-7, 1e-9)
        slope = None if wrong else _smooth_along(plain, args, directions)
        if slope is not None:
            wrong = _unlike(f"gradient along a direction at arguments {seed}", along, slope, 1e-3, 1e-4)
        if wrong is not None:
            return wrong
    return None


def tape(program: Program) -> str | None:
    """Compare a tape's gradients with those of functions, also where another program goes through the same line."""
    if OTHER_ON_TAPES.search(program.text()):
        return None
    f, other = program.module()["f"], next(iter(smaller(program)), program).module()["f"]
    want, want_other = tapec.grad(program.module()["f"], argnums=(0, 1)), tapec.compile(other)

    def step(f: Callable[..., Any], args: Sequence[Any]) -> tuple[Any, list[Any]]:
        x, y = tapec.Variable(args[0]), tapec.Variable(args[1])
        with tapec.GradientTape() as t:
            loss = f(x.value(), y.value(), *args[2:])
        return loss, t.gradient(loss, [x, y])

    for seed in (*SEEDS, 0, 1):
        args = program.arguments(seed)
        loss, parts = step(f, _fresh(args))
        wrong = _unlike_numpy(f"tape value at arguments {seed}", loss, program.module()["f"], args)
        for k, (part, good) in enumerate(zip(parts, want(*_fresh(args)))):
            found = np.zeros(np.shape(good)) if part is None else part
            wrong = wrong or _unlike(f"tape gradient {k} at arguments {seed}", found, good, 1e-7, 1e-9)
        if wrong is not None:
            return wrong
        try:
            good = want_other(*_fresh(args))
        except Exception:  # a program that lacks a line may do anything
            continue
        wrong = _unlike("tape value of another program", step(other, _fresh(args))[0], good, 1e-7, 1e-9)
        if wrong is not None:
            return wrong
    return None


def tape_state(program: Program) -> str | None:
    """Change arrays that a tape has read, and ask for its gradient: it is of what was read, or refused."""
    if OTHER_ON_TAPES.search(program.text()):
        return None
    space = program.module()
    args = program.arguments(0)
    want = tapec.grad(program.module()["f"])(*_fresh(args))
    x = tapec.Variable(args[0])
    with tapec.GradientTape() as t:
        loss = space["f"](x.value(), *_fresh(args[1:]))
    for name in ("BIG", "W"):
        if name in space:
            space[name][1:50] += 1.0
    part = t.gradient(loss, x)
    found = np.zeros(np.shape(want)) if part is None else part
    return _unlike("tape gradient after a change of what was read", found, want, 1e-7, 1e-9)


# How captured state changes between calls, one change after the other: (what it is, how), of what a module defines.
CHANGES: tuple[tuple[str, Callable[[Any, dict[str, Any]], Any]], ...] = (
    ("W", lambda w, _: w.__setitem__(0, 2.5)),
    ("RATES", lambda r, _: r.update(dict.fromkeys(r, 0.25))),
    ("installed", lambda i, _: setattr(i, "RATE", -0.5)),
    ("installed", lambda i, _: setattr(i.box, "w", 0.1)),
    ("BIG", lambda b, _: b.__setitem__(slice(3, 40), 0.25)),
    ("SERIES", lambda t, _: t.__setitem__(5, 0.8)),
    ("ROWS", lambda r, _: r.__setitem__(slice(7, 9), 0.1)),
    ("LAYERS", lambda t, _: t.__setitem__(2, t[3])),
    ("TREE", lambda t, _: t.__setitem__(0, -0.7)),
    ("TREE", lambda t, _: t.__setitem__(1, [0.1, 0.2, 0.3])),
    ("P", lambda p, _: p.__setitem__("scale", -0.4)),
    ("P", lambda p, _: p.__setitem__(3, 0.75)),
    ("P", lambda p, _: p["table"].__setitem__(slice(None), 0.2)),
    ("Model", lambda m, _: setattr(m, "rate", 1.4)),
    ("model", lambda m, _: setattr(m, "w", np.array([0.9, 0.1, 0.1]))),
    ("model", lambda _, space: space.update(model=space["Model"]())),
    ("gained", lambda g, _: setattr(g, "_gain", -0.3)),
    ("gained", lambda g, _: setattr(g, "__defaults__", (-0.5,))),
    ("LEAF", lambda n, _: setattr(n, "weight", -0.6)),
    ("LEAF", lambda _, space: space.update(LEAF=space["Node"](0.4))),
    ("prior", lambda _, space: space.update(prior=space["Uniform"](0.5, 2.0) if "Uniform" in space else [0.5, 2.0])),
    ("helper", lambda h, _: setattr(h, "__defaults__", (3,))),
    ("helper", lambda _, space: space.update(helper=lambda t, k=2: np.cos(t) * k)),
    ("TABLE", lambda _, space: space.update(TABLE={"w0": -0.1, "w1": 0.2, "w2": 0.3})),
    ("ROOT", lambda r, space: setattr(r.children[1], "children", (space["LEAF"],))),
    ("W", lambda _, space: space.update(W=np.array([1.0, 0.5, -0.25]))),
    ("TIED", lambda n, space: setattr(n, "weight", space["W"])),
)


def state(program: Program) -> str | None:
    """Change what the function captures between calls."""
    ours, plain = program.module(), program.module()
    f = tapec.value_and_grad(ours["f"])
    args = program.arguments(0)
    for n, (name, change) in enumerate([("", None), *CHANGES]):
        if change is not None:
            if name not in ours:
                continue
            change(ours[name], ours)
            change(plain[name], plain)
        try:
            plain["f"](*_fresh(args))
        except Exception:  # other captured values may fit no more; then there is nothing to compare with
            return None
        got, part = f(*_fresh(args))
        wrong = _unlike_numpy(f"state after change {n}, of {name}", got, plain["f"], args)
        slopes = _smooth(plain["f"], args, 0) if wrong is None else None
        if slopes is not None:
            wrong = _unlike(f"state gradient after change {n}, of {name}", part, slopes, 2e-4, 2e-5)
        if wrong is not None:
            return wrong
    return None


def returned_state(program: Program) -> str | None:
    """Return a captured object beside the value, and bind its name to another object between calls."""
    space = program.module()
    name = next((n for n in ("model", "prior", "LEAF") if n in space), None)
    if name is None:
        return None
    exec(f"def both(x, y, s, m):\n    return f(x, y, s, m), {name}\n", space)
    f, args = tapec.compile(space["both"]), program.arguments(0)
    for _ in range(2):
        got = f(*_fresh(args))[1]
        if got is not space[name] and not (type(got) is type(space[name]) and got == space[name]):
            return f"state: {name} is returned as another object"
        space[name] = copy.copy(space[name])
    return None


def aliased(program: Program) -> str | None:
    """Pass one array as two arguments."""
    x, y, s, m = program.arguments(0)
    if x.shape != y.shape:
        return None
    plain, f = program.module()["f"], tapec.compile(program.module()["f"])
    for given in ((x, x, s, m), (x, y, s, m), (x, x, s, m)):
        try:
            plain(*_fresh(given))
        except Exception:  # the program may be none for such arguments
            return None
        wrong = _unlike_numpy("value where two arguments are one array", f(*given), plain, given)
        if wrong is not None:
            return wrong
    return None


def without_composites(program: Program) -> str | None:
    args = program.arguments(0)
    want = tapec.grad(program.module()["f"])(*_fresh(args))
    with tapec.settings(composite=False):
        got = tapec.grad(program.module()["f"])(*_fresh(args))
    return _unlike("gradient without composite rules", got, want, 1e-7, 1e-9)


def unoptimized(program: Program) -> str | None:
    args = program.arguments(1)
    want = tapec.grad(program.module()["f"])(*_fresh(args))
    with tapec.settings(optimize=False):
        got = tapec.grad(program.module()["f"])(*_fresh(args))
    return _unlike("gradient without optimisation", got, want, 1e-7, 1e-9)


def second_order(program: Program) -> str | None:
    args = program.arguments(0)
    if np.size(args[0]) > 24:
        return None
    f = program.module()["f"]
    v = np.cos(np.arange(np.size(args[0])) + 1.0)
    grad = tapec.grad(f)
    up, down = [grad(args[0] + h * v, *args[1:]) for h in (1e-5, -1e-5)]
    near = [grad(args[0] + h * v, *args[1:]) for h in (3e-6, -3e-6)]
    slope, half = (up - down) / 2e-5, (near[0] - near[1]) / 6e-6
    if not np.allclose(slope, half, rtol=1e-3, atol=1e-4):
        return None
    return _unlike("second order", tapec.hvp(f)(*args, v), slope, 2e-3, 2e-4)


def other_layouts(program: Program) -> str | None:
    """Hand arrays over with other strides and orders."""
    plain, f = program.module()["f"], tapec.value_and_grad(program.module()["f"])
    x, y, s, m = program.arguments(0)
    wide = np.zeros((len(x), 2))
    wide[:, 0] = x
    for given in ((wide[:, 0], np.asfortranarray(y), s, m), (x[::-1][::-1], np.repeat(y, 2, axis=0)[::2], s, m)):
        try:
            plain(*copy.deepcopy(given))
        except Exception:  # plain NumPy refuses: np.ravel of another order is a copy, so the program does another thing
            continue
        got, _ = f(*given)
        wrong = _unlike_numpy("value of other layouts", got, plain, given)
        if wrong is not None:
            return wrong
    return None


def pickled(program: Program) -> str | None:
    """Compare the gradient of a function that comes out of a pickle."""
    args = program.arguments(0)
    f = tapec.grad(program.module()["f"])
    want = f(*_fresh(args))
    return _unlike("gradient after a pickle", pickle.loads(pickle.dumps(f))(*_fresh(args)), want, 1e-12, 0)


def exported(program: Program) -> str | None:
    """Compare the gradient of an exported module, which is run as a user would run it."""
    args = program.arguments(0)
    f = tapec.grad(program.module()["f"])
    want = f(*_fresh(args))
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/exported.py"
        f.export(path, *_fresh(args))
        space = runpy.run_path(path)
    (name,) = space["__all__"]
    wrong = _unlike("gradient of an export", space[name](*_fresh(args)), want, 1e-12, 0)
    given = (args[0], np.asfortranarray(args[1]), *args[2:])
    try:
        found = space[name](*given)
    except space["Mismatch"]:  # it depends on how arrays lie in memory
        return wrong
    return wrong or _unlike("gradient of an export for another layout", found, f(*given), 1e-9, 1e-12)


def on_targets(program: Program) -> str | None:
    """Compare the gradient as it is written on arrays, and with the functions of the array API: on NumPy's own."""
    args = program.arguments(0)
    f = tapec.value_and_grad(program.module()["f"])
    code, values = f.generated(*_fresh(args))
    want = code.function(*copy.deepcopy(values))
    compiled = f.locate(*_fresh(args))[1].compiled
    for target in ("numpy", "portable"):
        leading = (np,) if target == "portable" else ()
        function = compiled.renamed(target=target).function
        for got, expected in zip(function(*leading, *copy.deepcopy(values)), want, strict=True):
            wrong = _unlike(f"gradient of the target {target}", got, expected, 1e-8, 1e-10)
            if wrong is not None:
                return wrong
    return None


def vmapped(program: Program) -> str | None:
    """Compute three calls in one by vmap."""
    f, (x, y, s, m) = program.module()["f"], program.arguments(0)
    rows = np.stack([x, 0.5 * x, 0.9 * x + 0.1])
    try:
        want = np.array([f(row.copy(), y, s, m) for row in rows])
    except Exception:  # other values may not fit
        return None
    return _unlike("value of vmap", tapec.vmap(f, in_axes=(0, None, None, None))(rows, y, s, m), want, 1e-7, 1e-9)


QUICK = (quick,)
ALL = (
    value, gradient, tape, tape_state, state, returned_state, aliased, without_composites, unoptimized, second_order,
    other_layouts, vmapped, pickled, exported, on_targets,
)  # fmt: skip
