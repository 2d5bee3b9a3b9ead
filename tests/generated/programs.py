"""Draw ordinary NumPy functions as text: control flow, changes in place, views, closures, containers, helpers.

A program grows statement by statement. Each candidate is a template filled with names that are there; the whole is run
by plain NumPy, and the candidate stays if it ran, with numbers of ordinary size, and left the arguments as they were.
So templates need no rules about shapes: NumPy tells what fits.
"""

from __future__ import annotations

import linecache
import random
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any, NamedTuple

import numpy as np

__all__ = ["Block", "Program", "drawn", "reduced", "sizes_of"]

LARGEST = 1e4  # numbers beyond which a program is not of ordinary size
TRIES = 60  # candidates for one more statement
_numbers = count()  # of modules, each of which has a file name of its own


class Block(NamedTuple):
    """A statement: a line, or a header with the statements below it."""

    line: str
    body: tuple[Block, ...] | None = None

    def lines(self, indent: str = "    ") -> Iterator[str]:
        yield indent + self.line
        if self.body is not None:
            for block in self.body:
                yield from block.lines(indent + "    ")
            if not self.body:
                yield indent + "    pass"


class Program(NamedTuple):
    """A function `f(x, y, s)` with the state that it captures, as text, and what arguments it takes."""

    state: tuple[str, ...]  # lines that stand before the function
    body: tuple[Block, ...]
    result: str
    shapes: tuple[tuple[int, ...], ...]

    def text(self) -> str:
        inner = [line for block in self.body for line in block.lines()]
        return "\n".join(
            ["import numpy as np", *self.state, "", "def f(x, y, s):", *inner, f"    return {self.result}", ""]
        )

    def module(self) -> dict[str, Any]:
        """Run the text as a module of its own, whose lines tracebacks and tapec can read."""
        name = f"<generated {next(_numbers)}>"
        text = self.text()
        linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
        space: dict[str, Any] = {"__name__": "generated"}
        exec(compile(text, name, "exec"), space)
        return space

    def arguments(self, seed: int) -> tuple[Any, ...]:
        rng = np.random.default_rng(seed)
        *arrays, _ = self.shapes
        return (*[rng.uniform(-1.5, 1.5, shape) for shape in arrays], float(rng.uniform(0.2, 1.2)))


# -- state that the function captures: three names, of which checks change the values between calls -------------------
MODEL = """
class Model:
    rate = 0.6

    def __init__(self):
        self.w = np.array([0.2, 0.4, -0.3])

    def act(self, t):
        return np.tanh(t * self.rate) + self.w[0]

model = Model()
"""
STATES = (
    "W = np.array([0.3, -0.7, 1.1])",
    "P = {'scale': 0.8, 'table': np.array([0.5, -0.4, 0.9]), 3: 1.5}",
    MODEL,
    "def helper(t, k=2):\n    return t * t / (k + np.abs(t))",
)

UNARY = (
    "np.sin({v})", "np.exp(-{v} ** 2)", "np.tanh({v})", "np.sqrt(1.0 + {v} * {v})", "np.log1p({v} * {v})", "{v} ** 2",
    "1 / (1 + np.exp(-{v}))", "helper({v})", "model.act({v})", "np.where({v} > 0.1, {v}, 0.3 * {v})", "-{v}",
    "np.clip({v}, -0.8, 0.9)", "np.abs({v})", "np.cumsum({v}, axis=0)", "np.roll({v}, 1)", "np.flip({v})", "{v} * s",
    "{v} * P['scale']", "{v} + W[1]", "{v} * model.rate", "np.maximum({v}, 0)", "np.diff({v}, axis=0)", "{v}.copy()",
    "np.nan_to_num({v})", "np.sort({v}, axis=0)", "np.logaddexp({v}, 0.2)", "np.zeros_like({v}) + {v}",
    "(lambda t: t * {c})({v})", "{v} / P[3]", "np.cos({v}) if s > 0.7 else np.sin({v})",
)  # fmt: skip
BINARY = (
    "{v} + {w}", "{v} - {w}", "{v} * {w}", "{v} / (1.5 + {w} * {w})", "np.maximum({v}, {w})", "{v} @ {w}",
    "np.hypot({v}, 1.0 + {w} * {w})", "np.where({v} > {w}, {v}, {w})", "np.concatenate([{v}, {w}])",
    "np.stack([{v}, {w}])", "np.outer({v}, {w})", "np.dot({v}, {w})", "np.arctan2({v}, 1.5 + {w} * {w})",
    "np.add({v}, {w})", "np.interp({v}, np.array([-1.0, 0.0, 1.0]), {w})", "{v} * np.sum({w})",
    "{v} / np.exp({w})[0]",
)  # fmt: skip
REDUCED = (
    "np.sum({v})", "np.sum({v}, axis=0)", "np.mean({v})", "np.max({v})", "np.min({v}, axis=-1)",
    "np.prod(1 + 0.1 * {v})", "np.linalg.norm({v} + 2.0)", "np.var({v})", "{v}.sum(axis=-1, keepdims=True)",
    "{v}.mean(axis=0)", "np.std({v} + np.arange({v}.size).reshape({v}.shape))",
    "np.linalg.det(np.eye(3) + 0.1 * np.outer({v}, {v}))",
    "np.linalg.solve(np.eye(3) + 0.1 * np.outer({v}, {v}), {v})", "np.einsum('i,i->', {v}, {v})",
    "np.trace(np.outer({v}, {v}))", "np.log(np.sum(np.exp({v})))", "np.median({v})",
)  # fmt: skip
VIEWS = (
    "{v}[1:]", "{v}[::-1]", "{v}[0]", "{v}[-1]", "{v}.reshape(-1)", "{v}.T", "{v}[..., None]", "{v}[None]",
    "np.ravel({v})", "{v}[np.argmax({v}[:, 0])]", "{v}[:, 1]", "{v}[[0, 1]]", "{v}[{v} > -9.0]",
    "np.diag({v})", "{v}[:2]", "np.squeeze({v}[:1])", "np.swapaxes({v}, 0, -1)", "np.split({v}, [1])[0]",
    "np.atleast_1d({v})", "{v}.flat[1:3]", "np.broadcast_to({v}, (2,) + {v}.shape)", "np.expand_dims({v}, 0)",
    "np.moveaxis({v}, 0, -1)", "{v}[np.array([2, 0])]",
)  # fmt: skip
WRITES = (
    "{v}[0] = {w}[0]", "{v}[1:] = {w}[1:]", "{v}[:] = {w}", "{v} += {w}", "{v} *= {c}", "{v}[-1] += {c}",
    "{v}[{v} > 0.3] = {c}", "{v}[0], {v}[1] = {v}[1], {v}[0]", "np.add({v}, {w}, out={v})", "{v}.fill({c})",
    "np.copyto({v}, {w})", "{v}[::2] *= {c}", "{v}[1] = np.sum({w})", "{v} -= {v}[0]",
    "np.multiply({v}, {w}, out={v})", "{v}[:, 0] = {c}", "{v}[0] *= {v}[1]", "{v}.sort(axis=0)",
    "np.exp(-{v} ** 2, out={v})", "np.put({v}, [0], {c})", "{v}[np.array([0, 1])] += {c}",
    "np.maximum({v}, {w}, out={v})",
)  # fmt: skip
MADE = (
    "{n} = np.zeros(3)", "{n} = np.arange(3.0)", "{n} = np.array([{c}, {c}, {c}])", "{n} = np.ones((3, 3)) * {c}",
    "{n} = np.empty(3); {n}[:] = {w}", "{n} = np.zeros(3); {n}[1:] = {w}[1:]", "{n} = np.eye(3) * {c}",
    "{n} = np.arange(6.0).reshape(2, 3)", "{n} = W * {c}", "{n} = P['table'] + 0.0", "{n} = model.w * {c}",
    "{n} = np.linspace(0.0, {c}, 3)", "{n} = W[::-1]",
)  # fmt: skip
CONTAINERS = (
    "d = {{'a': {v}, 'b': {w}}}; {n} = d['a'] + d['b']", "parts = [{v}, {w}]; {n} = parts[0] * parts[-1]",
    "{n} = sum([t * {c} for t in ({v}, {w})])",
    "parts = []; parts.append({v}); parts.append({w}); {n} = np.stack(parts)", "a, b = {v}, {w}; {n} = a - b",
    "{n} = [np.sum(t) for t in {v}][0]", "{n} = dict(zip('ab', ({v}, {w})))['b']", "{n}, *others = {v}",
    "{n} = max(np.sum({v}), np.sum({w}))",
    "{n} = np.array([{v}[k] * {w}[k] for k in range(3)]) if False else {v} * {w}",
)  # fmt: skip
HEADERS = (
    "for k in range(3):", "for k in range(2):", "if s > 0.7:", "if np.sum({v}) > 0:", "if {v}.ndim == 1:",
    "for t in {v}:", "if {v}.flat[0] < 0.4:", "while False:", "for k, t in enumerate({v}):", "try:",
    "if len({v}) > 2:",
)  # fmt: skip
# what is known to be wrong, or crashes; `known=True` draws it too. An entry goes when its defect is mended.
KNOWN_VIEWS = ("np.asarray({v})",)  # on a tape an array of objects, in a function a copy
KNOWN_HEADERS = ("if isinstance({v}, np.ndarray):",)  # a traced argument is none
INSIDE = (
    "{v}[k] = {v}[k] * {c} + {w}[k]",
    "{v} = {v} * {c} + {w}",
    "{v}[k] += t",
    "{v} = {v} + t",
    "{v} = np.sin({v} + {c} * k)",
    "{v}[0] += k",
)


class _Writer:
    """Grow one program."""

    def __init__(self, rng: random.Random, known: bool):
        self.rng = rng
        self.views, self.headers = (VIEWS + KNOWN_VIEWS, HEADERS + KNOWN_HEADERS) if known else (VIEWS, HEADERS)
        self.state = STATES
        size = rng.choice([3, 3, 4, 17, 700])
        self.shapes = ((size,), rng.choice([(size,), (size, 3), (2, 3)]), ())
        self.body: tuple[Block, ...] = ()
        self.names = ["x", "y"]

    def candidate(self) -> tuple[Block, list[str]]:
        rng, new = self.rng, f"v{len(self.names)}"
        kind = rng.choice("uuubbbrrvvwwwmmcchh")
        if kind in "ubrv":
            table = {"u": UNARY, "b": BINARY, "r": REDUCED, "v": self.views}[kind]
            return Block(f"{new} = {self.filled(rng.choice(table))}"), [new]
        if kind == "w":
            return Block(self.filled(rng.choice(WRITES), owned=True)), []
        if kind in "mc":
            return Block(self.filled(rng.choice(MADE if kind == "m" else CONTAINERS)).replace("{n}", new)), [new]
        header = self.filled(rng.choice(self.headers))
        body = [Block(self.filled(rng.choice(INSIDE), owned=True)) for _ in range(rng.choice([1, 1, 2]))]
        if rng.random() < 0.3:
            body.append(Block(self.filled(rng.choice(WRITES), owned=True)))
        if header == "try:":
            return Block("if True:", (Block("try:", tuple(body)), Block("except IndexError:", (Block("pass"),)))), []
        return Block(header, tuple(body)), []

    def filled(self, template: str, owned: bool = False) -> str:
        """Put names and constants into a template; what is changed in place is no argument."""
        made = [name for name in self.names if name not in ("x", "y")] if owned else self.names
        recent = (made or self.names)[-6:]
        text = template.replace("{{", "\0").replace("}}", "\1")
        text = text.replace("{v}", self.rng.choice(recent)).replace(
            "{w}", self.rng.choice([*self.names[-4:], "x", "W"])
        )
        while "{c}" in text:
            text = text.replace("{c}", str(round(self.rng.uniform(-1.5, 1.5), 2)), 1)
        return text.replace("\0", "{").replace("\1", "}")

    def program(self, body: tuple[Block, ...]) -> Program:
        names = [name for name in self.names if name not in ("x", "y")][-5:] or ["x"]
        result = " + ".join([f"np.sum(np.sin({name}) * {round(0.4 + 0.1 * k, 1)})" for k, name in enumerate(names)])
        return Program(self.state, body, f"{result} + np.sum(x * y[..., :1].sum()) * 0.1", self.shapes)

    def runs(self, body: tuple[Block, ...], names: list[str]) -> bool:
        keep, self.names = self.names, self.names + names
        try:
            return all([_runs(self.program(body), seed) for seed in (0, 1, 2)])
        finally:
            self.names = keep


def _runs(program: Program, seed: int) -> bool:
    args = program.arguments(seed)
    before = [np.array(a) for a in args]
    try:
        with np.errstate(all="raise"):
            value = program.module()["f"](*args)
    except Exception:  # templates fit or do not: NumPy and Python say so by any error that they have
        return False
    fits = np.shape(value) == () and np.isfinite(value) and abs(value) < LARGEST
    return bool(fits) and all([np.array_equal(a, b) for a, b in zip(args, before)])


def drawn(seed: int, known: bool = False) -> Program:
    """Draw a program, the same one for the same seed; if `known`, of what is known to be wrong, too."""
    writer = _Writer(random.Random(seed), known)
    for _ in range(writer.rng.choice([3, 5, 8, 12])):
        for _ in range(TRIES):
            block, names = writer.candidate()
            if writer.runs((*writer.body, block), names):
                writer.body += (block,)
                writer.names += names
                break
    return writer.program(writer.body)


def sizes_of(program: Program) -> int:
    """Return how many statements a program has."""

    def of(blocks: tuple[Block, ...]) -> int:
        return sum([1 + of(block.body or ()) for block in blocks])

    return of(program.body)


def smaller(program: Program) -> Iterator[Program]:
    """Yield programs that lack a statement, or have the body of a block in the place of it."""

    def without(blocks: tuple[Block, ...]) -> Iterator[tuple[Block, ...]]:
        for k, block in enumerate(blocks):
            yield blocks[:k] + blocks[k + 1 :]
            if block.body is not None:
                yield blocks[:k] + block.body + blocks[k + 1 :]
                for body in without(block.body):
                    yield (*blocks[:k], block._replace(body=body), *blocks[k + 1 :])

    for body in without(program.body):
        yield program._replace(body=body)
    terms = program.result.split(" + np.sum(")
    for k in range(len(terms)):
        rest = [t if t.startswith("np.sum(") else f"np.sum({t}" for n, t in enumerate(terms) if n != k]
        if rest:
            yield program._replace(result=" + ".join(rest))


def reduced(program: Program, fails: Callable[[Program], bool]) -> Program:
    """Return a program that fails likewise and of which nothing can be left out."""
    while True:
        found = next((p for p in smaller(program) if fails(p)), None)
        if found is None:
            return program
        program = found
