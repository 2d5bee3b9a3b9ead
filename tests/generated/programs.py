"""Draw ordinary NumPy functions as text: control flow, changes in place, views, closures, containers, helpers.

A program grows statement by statement. Each candidate is a template filled with names that are there; the whole is run
by plain NumPy, and the candidate stays if it ran, with numbers of ordinary size that depend on the arguments in no
wild way, and left the arguments as they were.
So templates need no rules about shapes: NumPy tells what fits.
"""

from __future__ import annotations

import linecache
import random
import re
import warnings
from collections.abc import Callable, Iterator
from itertools import count
from types import CodeType
from typing import Any, NamedTuple

import numpy as np

from tests.generated import loops, templates

__all__ = ["Block", "Program", "drawn", "reduced", "sizes_of", "smaller"]

LARGEST = 1e4  # numbers beyond which a program is not of ordinary size
TRIES = 60  # candidates for one more statement
LOOPS = 0.4  # share of programs that begin with a loop of many rounds
OUTER = re.compile(r"outer|diag\(|None|expand_dims|atleast_2d")  # what makes axes, over which large arrays would grow
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
    """A function `f(x, y, s, m)` as text, and the shapes of x and y; the text tells which state it captures."""

    body: tuple[Block, ...]
    result: str
    shapes: tuple[tuple[int, ...], ...]

    def text(self) -> str:
        inner = [line for block in self.body for line in block.lines()]
        function = "\n".join(["def f(x, y, s, m):", *inner, f"    return {self.result}", ""])
        return "\n".join(["import numpy as np", *templates.state_of(function), "", function])

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
        arrays = [rng.uniform(-1.5, 1.5, shape) for shape in self.shapes]
        return (*arrays, float(rng.uniform(0.2, 1.2)), int(rng.integers(0, 3)))


class _Writer:
    """Grow one program."""

    def __init__(self, rng: random.Random):
        self.rng = rng
        size = rng.choice([3, 3, 3, 3, 4, 4, 17, 700, 700, 9000, 1, 0])
        self.shapes = ((size,), rng.choice([(size,), (size, 3), (2, 3)]))
        self.body: tuple[Block, ...] = ()
        self.names = ["x", "y"]

    def candidate(self) -> tuple[Block, list[str]]:
        rng, new = self.rng, f"v{len(self.names)}"
        kind = rng.choice("uuuuubbbbrrvvwwwmmcccchhk")
        if kind in "ubrv":
            tables = {"u": templates.UNARY, "b": templates.BINARY, "r": templates.REDUCED, "v": templates.VIEWS}
            return Block(f"{new} = {self.filled(rng.choice(tables[kind]))}"), [new]
        if kind == "w":
            return Block(self.filled(rng.choice(templates.WRITES), owned=True)), []
        if kind in "mc":
            table = templates.MADE if kind == "m" else templates.CONTAINERS
            return Block(self.filled(rng.choice(table)).replace("{n}", new)), [new]
        if kind == "k":
            header, *lines = self.filled("\n".join(rng.choice(templates.BLOCKS)), owned=True).split("\n")
            return Block(header, tuple([Block(line) for line in lines])), []
        header = self.filled(rng.choice(templates.HEADERS))
        body = [Block(self.filled(rng.choice(templates.INSIDE), owned=True)) for _ in range(rng.choice([1, 1, 2]))]
        if rng.random() < 0.3:
            body.append(Block(self.filled(rng.choice(templates.WRITES), owned=True)))
        if header == "try:":
            return Block("if True:", (Block("try:", tuple(body)), Block("except IndexError:", (Block("pass"),)))), []
        return Block(header, tuple(body)), []

    def loop(self) -> tuple[Block, list[str]]:
        """Grow a loop of many rounds line by line: a line stays if the whole still runs."""
        rng, new = self.rng, f"v{len(self.names)}"

        def whole() -> Block:
            inner = [*before, Block(header, tuple(body)), *again, Block(made.replace("{n}", new))]
            return Block("if True:", tuple(inner))

        def grow() -> bool:
            body.append(Block(self.filled(rng.choice(loops.STEPS))))
            fits = self.runs((*self.body, whole()), [new])
            if not fits:
                body.pop()
            return fits

        again: list[Block] = []
        made = loops.MADE[0]
        for _ in range(TRIES):
            before = [Block(self.filled(rng.choice(t))) for t in (loops.FIRST, loops.SECOND, loops.WRITTEN)]
            header, *first = self.filled(rng.choice(loops.HEADERS)).split("\n")
            body = [Block(line) for line in first]
            if grow():
                break
        for _ in range(rng.choice([3, 6, 9, 15])):
            grow()
        for _ in range(TRIES):
            keep = made, again
            made = rng.choice(loops.MADE)
            if rng.random() < 0.4:
                line, step = rng.choice(loops.AGAIN).split("\n")
                again = [Block(line, (Block(step),))]
            if self.runs((*self.body, whole()), [new]):
                break
            made, again = keep
        return whole(), [new]

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
        return Program(body, f"{result} + np.sum(x * y[..., :1].sum()) * 0.1", self.shapes)

    def is_small(self, body: tuple[Block, ...]) -> bool:
        """Return whether no array of a program outgrows a million elements by far."""
        (size,), _ = self.shapes
        texts = ["".join(block.lines()) for block in body]
        is_large = size > 1000 or any(["BIG" in text for text in texts])
        most = 0 if is_large else 1 if size > 100 else len(body)
        return len([text for text in texts if OUTER.search(text)]) <= most

    def runs(self, body: tuple[Block, ...], names: list[str]) -> bool:
        if not self.is_small(body):
            return False
        keep, self.names = self.names, self.names + names
        try:
            return _runs(self.program(body))
        finally:
            self.names = keep


def _runs(program: Program) -> bool:
    """Return whether a program computes a finite number for three arguments, and leaves these as they are."""
    code = compile(program.text(), "<drawn>", "exec")
    return all(_runs_for(code, program.arguments(seed)) for seed in (0, 1, 2))


def _runs_for(code: CodeType, args: tuple[Any, ...]) -> bool:
    before = [np.array(a) for a in args]
    values = []
    try:
        with np.errstate(all="raise"), warnings.catch_warnings(action="error"):
            for given in (args, [a if isinstance(a, int) else a * (1 + 1e-13) for a in args]):
                space: dict[str, Any] = {"__name__": "generated"}
                exec(code, space)
                values.append(space["f"](*given))
    except Exception:  # templates fit or do not: NumPy and Python say so by any error that they have
        return False
    value, near = values
    fits = np.shape(value) == () and np.isfinite(value) and abs(value) < LARGEST and abs(value - near) < 1e-9
    return bool(fits) and all([np.array_equal(a, b) for a, b in zip(args, before)])


def drawn(seed: int) -> Program:
    """Draw a program, the same one for the same seed."""
    writer = _Writer(random.Random(seed))
    if writer.rng.random() < LOOPS:
        block, names = writer.loop()
        if writer.runs((block,), names):
            writer.body, writer.names = (block,), writer.names + names
    for _ in range(writer.rng.choice([0, 1, 3] if writer.body else [3, 5, 8, 12])):
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
