"""The code in the pages: found, run in order, and held against the output that the pages show.

    python            runs; all blocks of a page share one namespace
    python + text     runs, and must print the text; a text like `ValueError: ...` is the error that it must raise
    python, first line `# file: model.py`     is written to that file, and if text follows, it is run as that file
    console           lines after `$ ` run in a shell, the other lines are what they must print
    markdown comment `<!-- not run: why -->`  before a block: the block is shown only
    markdown comment `<!-- needs: pandas -->` before a block: it does not run where pandas is missing

A page runs in an empty folder of its own. The blocks of `tour.md` count as one file, `tour.py`: outputs name its lines,
and the site numbers them. In output, `...` stands for anything, numbers agree to the digits shown, and blanks count as
one. `python -m docs.blocks --write` puts into the pages what their code really prints.
"""

from __future__ import annotations

import contextlib
import doctest
import importlib.util
import io
import linecache
import os
import re
import shlex
import subprocess
import sys
import tempfile
import traceback
import types
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

__all__ = ["Block", "Mismatch", "blocks_of", "matches", "pages", "run_page", "write_outputs"]

ROOT = Path(__file__).resolve().parent.parent
_FENCE = re.compile(
    r"^(?:<!-- (?P<kind>not run|needs):(?P<why>.*?)-->\n+)?"
    r"(?P<indent> *)```(?P<language>\w*)[^\n]*\n(?P<text>.*?)^(?P=indent)```[ ]*$",
    re.MULTILINE | re.DOTALL,
)
_ERROR = re.compile(r"(?:[\w.]*(?:Error|Exception|Warning)): ")


class Block(NamedTuple):
    """A fenced block of a page; `start` and `end` are the place of its text in the page."""

    language: str
    text: str
    line: int
    start: int
    end: int
    shown_only: bool
    needs: str = ""  # a package without which the block does not run

    @property
    def file(self) -> str:
        """The name of the file that the block is, empty where it is part of the page's own."""
        first = self.text.partition("\n")[0]
        return first.removeprefix("# file: ").strip() if first.startswith("# file: ") else ""

    @property
    def runs_in_page(self) -> bool:
        """Whether the block's lines are lines of the page's own file."""
        return self.language == "python" and not self.shown_only and not self.file


class Mismatch(AssertionError):
    """A page shows what its code does not do."""


def pages() -> list[Path]:
    """README and all pages of the documentation."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def blocks_of(text: str) -> list[Block]:
    found = []
    for m in _FENCE.finditer(text):
        start = m.start("text")
        content = "".join(line.removeprefix(m["indent"]) for line in m["text"].splitlines(keepends=True))
        line = text.count("\n", 0, start) + 1
        needs = m["why"].strip() if m["kind"] == "needs" else ""
        found.append(Block(m["language"], content, line, start, m.end("text"), m["kind"] == "not run", needs))
    return found


def matches(expected: str, got: str) -> bool:
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE | _NUMBER
    return _Checker().check_output(expected.strip() + "\n", got.strip() + "\n", flags)


_NUMBER = doctest.register_optionflag("NUMBER_IN_DOCS")
_DIGITS = re.compile(r"(?<![\w.])[+-]?\d+\.\d*(?:[eE][+-]?\d+)?")


ROUNDING = 1e-13  # what is left of two numbers that should be equal is another on another machine


class _Checker(doctest.OutputChecker):
    """Numbers with a point agree when they do to the digits shown, or when both are what rounding leaves."""

    def check_output(self, want: str, got: str, optionflags: int) -> bool:
        if super().check_output(want, got, optionflags):
            return True
        wanted, found = _DIGITS.findall(want), _DIGITS.findall(got)
        if len(wanted) != len(found):
            return False
        numbers = iter([w if _agrees(w, f) else f for w, f in zip(wanted, found)])
        return super().check_output(want, _DIGITS.sub(lambda _: next(numbers), got), optionflags)


def _agrees(want: str, got: str) -> bool:
    mantissa, _, exponent = want.lower().partition("e")
    digits = len(mantissa.partition(".")[2])
    if 0 < abs(float(want)) < ROUNDING:
        return abs(float(got)) < ROUNDING
    return abs(float(want) - float(got)) <= 0.501 * 10.0 ** (int(exponent or 0) - digits)


# ---------------------------------------------------------------------------------------------------------------
# running
# ---------------------------------------------------------------------------------------------------------------
def run_page(path: Path, write: bool = False) -> int:
    """Run all blocks of a page; gives how many ran. With `write`, puts the real output into the page."""
    text = path.read_text(encoding="utf-8")
    replaced: list[tuple[Block, str]] = []
    with tempfile.TemporaryDirectory() as folder:
        ran = _Page(path.name, Path(folder)).run(blocks_of(text), replaced if write else None)
    for block, new in reversed(replaced):
        margin = re.search(r" *$", text[: block.start].rpartition("```")[0]).group()  # type: ignore[union-attr]
        lines = [f"{margin}{line}".rstrip() for line in new.rstrip("\n").split("\n")]
        text = text[: block.start] + "\n".join(lines) + "\n" + text[block.end :]
    if write:
        path.write_text(text, encoding="utf-8")
    return ran


@contextlib.contextmanager
def _as_main(module: types.ModuleType) -> Iterator[None]:
    """Let a module be the one that runs, as a script is."""
    before = sys.modules["__main__"]
    sys.modules["__main__"] = module
    try:
        yield
    finally:
        sys.modules["__main__"] = before


class _Page:
    """Runs the blocks of one page."""

    def __init__(self, name: str, folder: Path):
        self.name = name
        self.folder = folder
        self.module = types.ModuleType("__main__")
        self.space = self.module.__dict__
        self.lines: list[str] = []  # the code so far, as one file
        self.places: list[int] = []  # the line of the page for each of them

    def run(self, blocks: list[Block], replaced: list[tuple[Block, str]] | None) -> int:
        ran = 0
        with contextlib.chdir(self.folder), _importable(self.folder), _as_main(self.module):
            for k, block in enumerate(blocks):
                if block.shown_only:
                    continue
                if block.needs and importlib.util.find_spec(block.needs) is None:
                    self.add_lines(block)
                    continue
                follows = blocks[k + 1] if k + 1 < len(blocks) and blocks[k + 1].language == "text" else None
                if block.language == "python":
                    ran += 1
                    got = self.python(block, follows)
                    if follows is not None and not follows.shown_only:
                        self.compare(follows, got, replaced)
                elif block.language == "console":
                    ran += 1
                    self.compare(block, self.console(block), replaced)
        return ran

    def add_lines(self, block: Block) -> None:
        """Make a block's lines lines of the page's file, at which later blocks begin."""
        self.lines += block.text.splitlines(keepends=True)
        self.places += range(block.line, block.line + block.text.count("\n"))

    def compare(self, block: Block, got: str, replaced: list[tuple[Block, str]] | None) -> None:
        if matches(block.text, got):
            return
        if replaced is None:
            raise Mismatch(f"{self.name}:{block.line} shows\n{block.text}\nbut the code gives\n{got}")
        replaced.append((block, got))

    def python(self, block: Block, follows: Block | None) -> str:
        """Run a block; gives what it prints, or the error that the page announces."""
        name = f"{self.name}:{block.line}"
        if block.file:
            (self.folder / block.file).write_text(block.text, encoding="utf-8")
            if follows is None or follows.shown_only:
                return ""
            file, source, places = block.file, block.text, list(range(block.line, block.line + block.text.count("\n")))
        else:
            file = self.name.removesuffix(".md") + ".py"  # what line comments of generated code call it
            source = "\n" * len(self.lines) + block.text
            self.add_lines(block)
            places = self.places
            linecache.cache[file] = (len(self.lines), None, self.lines, file)
        out = io.StringIO()
        try:
            with contextlib.redirect_stdout(out):
                exec(compile(source, file, "exec"), self.space)
        except Exception as e:  # whatever the page raises, which may be what it shows
            if follows is not None and _ERROR.match(follows.text):
                return out.getvalue() + f"{_error_name(follows.text, e)}: {e}"
            frames = traceback.extract_tb(e.__traceback__)
            where = [places[f.lineno - 1] for f in frames if f.filename == file and f.lineno]
            raise Mismatch(f"{name} fails at line {max(where, default=block.line)}: {type(e).__name__}: {e}") from e
        return out.getvalue()

    def console(self, block: Block) -> str:
        """Run the commands; gives the block as it should read."""
        shown = []
        for line in block.text.splitlines():
            if line.startswith("$ "):
                shown += [line, *self.command(line[2:], block).splitlines()]
        return "\n".join(shown)

    def command(self, line: str, block: Block) -> str:
        python = shlex.quote(sys.executable)
        setup = f'tapec() {{ {python} -m tapec "$@"; }}; python() {{ {python} "$@"; }}; '
        paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
        env = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "COLUMNS": "100"}
        run = subprocess.run(
            ["bash", "-c", setup + line], capture_output=True, text=True, env=env, cwd=self.folder, check=False
        )
        return run.stdout + run.stderr


def _error_name(expected: str, error: BaseException) -> str:
    """The class as the page spells it: with its module or without."""
    kind = type(error)
    spelled = expected.partition(": ")[0]
    return (
        spelled
        if spelled in (kind.__name__, f"{kind.__module__}.{kind.__name__}", f"tapec.{kind.__name__}")
        else kind.__name__
    )


@contextlib.contextmanager
def _importable(folder: Path):
    """Files that a page writes can be imported by it, and by nobody after it."""
    keep = sys.path[:], set(sys.modules)
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        sys.path[:] = keep[0]
        for name in set(sys.modules) - keep[1]:
            if (getattr(sys.modules[name], "__file__", None) or "").startswith(str(folder)):
                del sys.modules[name]


def main(words: list[str]) -> int:
    """Run pages, each in a process of its own: what one page defines, no other sees."""
    chosen = [Path(w).resolve() for w in words if not w.startswith("-")] or pages()
    if "--here" in words:
        try:
            print(f"{chosen[0].name}: {run_page(chosen[0], '--write' in words)} blocks")
        except Mismatch as e:
            print(e, file=sys.stderr)
            return 1
        return 0
    if "--write" in words:
        for path in chosen:
            write_outputs(path)
    return max([_in_process(path) for path in chosen], default=0)


def write_outputs(path: Path) -> bool:
    """Put into a page what its code really prints; tell whether that changed the page."""
    before = path.read_bytes()
    for _ in range(4):  # outputs name lines of the page, which move as outputs grow
        shown = path.read_bytes()
        _in_process(path, "--write")
        if path.read_bytes() == shown:
            break
    return path.read_bytes() != before


def _in_process(path: Path, *flags: str) -> int:
    command = [sys.executable, "-m", "docs.blocks", "--here", *flags, str(path)]
    quiet = subprocess.DEVNULL if flags else None
    return subprocess.run(command, cwd=ROOT, check=False, stdout=quiet, stderr=quiet).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
