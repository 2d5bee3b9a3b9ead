"""`DumpFolder` writes the graphs and the source of one compilation as numbered files into a folder of their own."""

from __future__ import annotations

import re
from pathlib import Path

from tapec.errors import TapecError
from tapec.ir import CONSTANT, Graph, parse
from tapec.ir.text.stable_numbers import StableNumbers

__all__ = ["DumpFolder"]

_ABOUT = """\
Written by tapec, since the setting `dump` (TAPEC_DUMP) names this folder.
Each folder NNNN-NAME has one compilation; its index.txt says what each file is. In order: the recorded graph, what
differentiation made of it, the graph after each pass or step of code generation that changed it, and the source.
A value without a name has the same number in all graphs of a folder, so that `diff` shows what a step did.
`tapec opt FILE.ir` and other commands read FILE.ir; graphs with large constants, and those of code generation, whose
operations have no text that is read back, are FILE.txt.
"""


class DumpFolder:
    """Holds the folder of one compilation, which no other thread or process writes to."""

    def __init__(self, root: str, name: str):
        try:
            self.path = _claimed(Path(root).expanduser(), re.sub(r"\W+", "_", name)[:80] or "function")
        except OSError as error:
            raise TapecError(
                f"TAPEC_DUMP={root}: {error.strerror or error}. Fix: name a folder that you can write to."
            ) from error
        self._count = 0
        self._numbers = StableNumbers()

    def graph(self, name: str, graph: Graph, about: str) -> None:
        """Write a graph down."""
        text = self._numbers.text(graph) + "\n"
        count = sum([n.op is not CONSTANT for n in graph.nodes])
        self._write(name, "ir" if _reads_back(text) else "txt", text, f"{about}, operations: {count}")

    def source(self, text: str) -> None:
        """Write the generated source down."""
        self._write("source", "py", text, f"the generated code, lines: {len(text.splitlines())}")

    def failure(self, about: str) -> None:
        """Write down why there is nothing more."""
        self._write("error", "txt", about + "\n", "why there is nothing more")

    def _write(self, name: str, suffix: str, text: str, about: str) -> None:
        file = f"{self._count:02d}-{name.replace(' ', '-')}.{suffix}"
        self._count += 1
        (self.path / file).write_text(text, encoding="utf-8")
        with open(self.path / "index.txt", "a", encoding="utf-8") as index:
            index.write(f"{file:<32} {about}\n")


def _reads_back(text: str) -> bool:
    try:
        parse(text)
    except TapecError:
        return False
    return True


def _claimed(root: Path, name: str) -> Path:
    """Make the folder with the next number, which is nobody else's.

    `0007` is made first: of those who try, one succeeds. Then that one looks whether somebody was faster, and has
    already given its folder the name `0007-loss`.
    """
    root.mkdir(parents=True, exist_ok=True)
    about = root / "README.txt"
    if not about.exists():
        about.write_text(_ABOUT, encoding="utf-8")
    number = 0
    while True:
        found = re.findall(r"^\d{4,}", "\n".join([p.name for p in root.iterdir()]), re.MULTILINE)
        number = max([number, *map(int, found)]) + 1
        claim = root / f"{number:04d}"
        try:
            claim.mkdir()
        except FileExistsError:
            continue
        if not any(root.glob(f"{claim.name}-*")):
            return claim.rename(root / f"{claim.name}-{name}")
        claim.rmdir()
