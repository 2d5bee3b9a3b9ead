"""Take one version of a function in a process of its own: files of the same name can differ between versions.

Run as a script, it writes what it found to a file: `python -m tapec.cli.compared_versions` is the other half of
`snapshot`.
"""

from __future__ import annotations

import io
import os
import pickle
import subprocess
import sys
import tarfile
import tempfile
from argparse import Namespace
from pathlib import Path
from typing import Any

from tapec.cli.error_messages import Problem, describe
from tapec.cli.inspected_program import subject_of
from tapec.fast_namedtuple import NamedTuple
from tapec.ir import Graph
from tapec.ir.text.parser import parse
from tapec.ir.text.printer import constant_table
from tapec.runtime.compile import CompiledGraph, Options

__all__ = ["Snapshot", "parse_version", "snapshot"]


class Version(NamedTuple):
    """Names a TARGET, as it is (revision None) or as it was."""

    revision: str | None
    target: str

    def __str__(self) -> str:
        return self.target if self.revision is None else f"{self.revision}:{self.target}"


class Snapshot(NamedTuple):
    """Holds the graphs of a version, as text that any process can read, and the constants they refer to.

    `values` are those of all inputs: first the arguments, `given` in number, then what was captured. If it `branches`,
    the graphs are those of the path that the arguments take.
    """

    forward: str
    gradient: str
    tables: tuple[dict[str, Any], dict[str, Any]]
    values: list[Any]
    given: int
    branches: bool

    def graphs(self) -> tuple[Graph, Graph]:
        return parse(self.forward, self.tables[0]), parse(self.gradient, self.tables[1])


def parse_version(word: str, other: str) -> Version:
    """`file.py:f` or `graph.ir`, `REVISION:file.py:f`, or a revision alone of the other word's target."""
    parts = word.split(":")
    if len(parts) == 3:
        return Version(parts[0], ":".join(parts[1:]))
    if len(parts) == 2:
        return Version(None, word)
    if os.path.isfile(word):  # graph text
        return Version(None, word)
    others = other.split(":")
    if len(others) < 2 and not os.path.isfile(other):
        raise Problem(f"neither {word} nor {other} names a function: write FILE.py:NAME")
    return Version(word, ":".join(others[-2:]))


def snapshot(version: Version, options: Namespace) -> Snapshot:
    """Take a version: in the working tree, or in a copy of the tree as it was at the revision."""
    with tempfile.TemporaryDirectory() as folder:
        where = os.getcwd() if version.revision is None else extract(version.revision, Path(folder) / "tree")
        out = Path(folder) / "snapshot"
        job = {"target": version.target, "args": options.args, "wrt": options.wrt, "transform": options.transform}
        run = subprocess.run(
            [sys.executable, "-m", "tapec.cli.compared_versions", repr(job), str(out)],
            cwd=where,
            env={**os.environ, "PYTHONPATH": os.pathsep.join([p for p in sys.path if p])},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
        if run.returncode:
            said = run.stderr.strip()
            raise Problem(said if said.startswith(f"{version}") else f"{version}: {said}")
        return Snapshot(*pickle.loads(out.read_bytes()))


def extract(revision: str, folder: Path) -> str:
    """Unpack the tree of a git revision; return the folder in it that stands for the current one."""
    archive = git(
        "archive", "--format=tar", f"{revision}^{{tree}}", cwd=git("rev-parse", "--show-toplevel").decode().strip()
    )
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        tar.extractall(folder, filter="data")
    return str(folder / git("rev-parse", "--show-prefix").decode().strip())


def git(*words: str, cwd: str | None = None) -> bytes:
    try:
        run = subprocess.run(["git", *words], cwd=cwd, capture_output=True, check=False)
    except FileNotFoundError:
        raise Problem("git is not installed, so versions can be files only") from None
    if run.returncode:
        raise Problem(f"git {words[0]}: {run.stderr.decode().strip()}")
    return run.stdout


def take(job: dict[str, Any]) -> Snapshot:
    """Load and trace a program in the other process, and write it down."""
    subject = subject_of(Namespace(**job))
    forward, gradient = CompiledGraph(subject.forward, Options()).optimized, subject.optimized
    tables = constant_table(forward), constant_table(gradient)
    branches = any([path["guards"] for path in subject.paths])
    return Snapshot(str(forward), str(gradient), tables, subject.generated()[2], subject.given, branches)


def main() -> int:
    import ast

    try:
        found = take(ast.literal_eval(sys.argv[1]))
    except Exception as e:  # whatever that version of the code raises: the process that asked shows it
        print(e if isinstance(e, Problem) else describe(e), file=sys.stderr)
        return 2
    Path(sys.argv[2]).write_bytes(pickle.dumps(tuple(found)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
