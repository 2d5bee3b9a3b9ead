"""Compare two commits of tapec. See `tests/fence/__init__.py`."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from tests.fence.checkouts import lay_out
from tests.fence.text import Comparison, compare


def text_report(found: list[Comparison], show: int) -> str:
    """A table of the programs, and the first differences."""
    lines = ["| program | functions | text |", "| --- | --- | --- |"]
    for c in found:
        said = c.note or ("equal" if c.equal else f"**{len(c.differences)} differ**")
        lines.append(f"| {c.program} | {c.functions} | {said} |")
    shown = [d for c in found for d in c.differences][:show]
    return "\n".join(lines) + "".join([f"\n\n```diff\n{d}\n```" for d in shown])


def main(words: list[str]) -> int:
    """Run the comparisons that the words ask for; 1 when something is beyond the fence."""
    parser = argparse.ArgumentParser(prog="python -m tests.fence", description="Compare two commits of tapec.")
    parser.add_argument("old", help="a git revision, or a folder with a checkout")
    parser.add_argument("new", help="the same")
    parser.add_argument("--text", action="store_true", help="compare the text of generated code only")
    parser.add_argument("--stubs", action="store_true", help="compare the text of call stubs, too")
    parser.add_argument("--ignore-lines", action="store_true", help="line numbers of user lines may differ")
    parser.add_argument("--only", default="", metavar="WORD", help="programs whose name holds this")
    parser.add_argument("--quick", action="store_true", help="a subset, for a first look")
    parser.add_argument("--show", type=int, default=3, metavar="N", help="how many differences are printed")
    parser.add_argument("--jobs", type=int, default=2, help="programs that run at a time, where nothing is timed")
    options = parser.parse_args(words)
    with tempfile.TemporaryDirectory(prefix="fence-") as scratch:
        old, new = Path(scratch, "old"), Path(scratch, "new")
        names = [lay_out(options.old, old), lay_out(options.new, new)]
        print(f"OLD {names[0]}, NEW {names[1]}\n", flush=True)
        found = compare(old, new, options.only, options.quick, options.stubs, options.ignore_lines, options.jobs)
    print(text_report(found, options.show))
    return int(not all([c.equal for c in found]))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
