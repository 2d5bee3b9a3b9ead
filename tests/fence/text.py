"""Compare the text of all code that two commits generate, program by program.

Programs are the golden functions and the benchmarks (of this checkout, for both commits), and each commit's own
examples and pages of documentation. Each program runs in a process of its own.
"""

from __future__ import annotations

import difflib
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from tests.fence import program

__all__ = ["Comparison", "Run", "compare", "compare_runs", "environment_of", "without_lines"]

HOOK = Path(__file__).parent / "hook"
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
_ADDRESS = re.compile(r"_\d{9,}\b")  # call stubs name objects by where they are
_PLACE = re.compile(r"(# \S+\.(?:py|md)):\d+")


class Run(NamedTuple):
    """What a program did: `texts` are (kind, name, text) of all generated code; `failure` is empty after a good end."""

    texts: list[tuple[str, str, str]]
    failure: str


class Comparison(NamedTuple):
    """One program in both commits. `differences` are unified diffs, one a function; `fault` is what else is wrong."""

    program: str
    functions: int
    differences: list[str]
    fault: str = ""
    remark: str = ""

    @property
    def equal(self) -> bool:
        return not self.differences and not self.fault

    def __str__(self) -> str:
        if self.equal:
            return f"equal{self.remark and f' ({self.remark})'}"
        return f"**{', '.join(filter(None, [self.fault, f'{len(self.differences)} differ']))}**"


def without_lines(text: str) -> str:
    """The text with the line numbers of the user's lines taken out of its comments.

    >>> without_lines("h = x @ w  # page.py:12   np.tanh(x @ w)")
    'h = x @ w  # page.py:_   np.tanh(x @ w)'
    """
    return _PLACE.sub(r"\1:_", text)


def programs_of(root: Path, only: str = "", quick: bool = False) -> dict[str, list[str]]:
    """The programs of a checkout: name and the words after `python`."""
    found = {f"tests: {name}": ["-m", "tests.fence.program", name] for name in program.GROUPS}
    examples = sorted((root / "examples").glob("*.py"))
    pages = [root / "README.md", *sorted((root / "docs").rglob("*.md"))]
    if quick:
        examples, pages = examples[:2], [p for p in pages if p.stem in ("README", "tour", "control-flow", "tape")]
    found |= {f"examples/{p.name}": [str(p)] for p in examples}
    found |= {
        str(p.relative_to(root)): ["-m", "docs.blocks", "--here", str(p)] for p in pages if "```python" in p.read_text()
    }
    return {name: words for name, words in found.items() if only in name}


def environment_of(root: Path, *folders: str) -> dict[str, str]:
    """The environment of programs of a checkout: one thread, settings of tapec as they are by default."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("TAPEC_", "PYTHON"))}
    path = os.pathsep.join([*folders, str(root)])
    return {**kept, **ONE_THREAD, "PYTHONPATH": path, "PYTHONHASHSEED": "0", "MPLBACKEND": "Agg"}


def without_place(kind: str, text: str, root: Path) -> str:
    """The text without what depends on the folder of a checkout and, in call stubs, on addresses of objects."""
    text = text.replace(str(root), "<root>")
    return _ADDRESS.sub("_", text) if kind == "stub" else text


def run_program(root: Path, words: list[str]) -> Run:
    """Run a program against the tapec of a checkout, recorded."""
    with tempfile.TemporaryDirectory() as scratch:
        record, work = Path(scratch, "record"), Path(scratch, "work")
        record.mkdir()
        work.mkdir()
        environment = environment_of(root, str(HOOK)) | {"FENCE_RECORD": str(record)}
        cwd = root if "docs.blocks" in words else work
        run = subprocess.run(
            [sys.executable, *words], cwd=cwd, env=environment, capture_output=True, text=True, check=False
        )
        texts = [
            (kind, name, without_place(kind, text, root))
            for path in sorted(record.iterdir())
            for kind, name, text in json.loads(path.read_text(encoding="utf-8"))
        ]
    return Run(texts, run.stderr.strip()[-2000:] if run.returncode else "")


def compare_runs(name: str, old: Run, new: Run, stubs: bool = False, ignore_lines: bool = False) -> Comparison:
    """The functions whose text is not in both as often; they are matched by name, in order."""

    def texts(run: Run) -> list[tuple[str, str]]:
        chosen = [(n, t) for kind, n, t in run.texts if stubs or kind == "function"]
        return [(n, without_lines(t)) for n, t in chosen] if ignore_lines else chosen

    before, after = texts(old), texts(new)
    gone, come = _missing(before, after), _missing(after, before)
    differences = []
    for n in dict.fromkeys([n for n, _ in (*gone, *come)]):
        of_name = [[t for m, t in part if m == n] for part in (gone, come)]
        count = max(map(len, of_name))
        for a, b in zip(*[part + [""] * (count - len(part)) for part in of_name], strict=True):
            differences.append(_diff(n, a, b))
    remark = fault = ""
    if new.failure:
        last = new.failure.splitlines()[-1]
        fault, remark = (f"fails: {last}", "") if not old.failure else ("", f"both fail: {last}")
    elif before and not after:
        fault = "generates nothing"
    return Comparison(name, len(after), differences, fault, remark)


def _missing(texts: list[tuple[str, str]], others: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Those that the others do not have, or not as often."""
    left = Counter(others)
    found = []
    for entry in texts:
        if left[entry]:
            left[entry] -= 1
        else:
            found.append(entry)
    return found


def _diff(name: str, old: str, new: str) -> str:
    lines = difflib.unified_diff(old.splitlines(), new.splitlines(), f"old {name}", f"new {name}", lineterm="", n=2)
    return "\n".join(lines)


def compare(
    old: Path,
    new: Path,
    only: str = "",
    quick: bool = False,
    stubs: bool = False,
    ignore_lines: bool = False,
    jobs: int = 2,
) -> list[Comparison]:
    """All programs of both commits. One that a single commit has is compared with nothing, and noted."""
    before, after = programs_of(old, only, quick), programs_of(new, only, quick)
    both = [name for name in after if name in before]
    with ThreadPoolExecutor(jobs) as pool:
        runs = {
            name: (pool.submit(run_program, old, before[name]), pool.submit(run_program, new, after[name]))
            for name in both
        }
        found = [compare_runs(n, a.result(), b.result(), stubs, ignore_lines) for n, (a, b) in runs.items()]
    found += [Comparison(name, 0, [], "not in NEW") for name in before if name not in after]
    found += [Comparison(name, 0, [], "not in OLD") for name in after if name not in before]
    return found
