"""Writes all exact text of generated code anew: `python -m tests.regenerate`; its diff is what a reviewer reads.

Three places hold such text: the ten golden functions in tests/codegen/golden, the outputs in README.md and docs/*.md,
and those in docs/notebooks.
The list of ops for which analyses have no rule, tests/ir/ops_without_rules.txt, is written along with them.
Where nothing changed, nothing is written: tests/codegen/test_golden.py, tests/docs/test_pages.py and
tests/ir/test_ops.py ask for that.
"""

from __future__ import annotations

from docs import notebooks
from docs.blocks import ROOT, pages, write_outputs
from tests.codegen import golden
from tests.codegen.golden_functions import CASES
from tests.ir import ops_without_rules


def main() -> None:
    """Write golden functions and pages, and name those that changed."""
    changed = [golden.path_of(name) for name in CASES if golden.write(name)]
    changed += [path for path in pages() if write_outputs(path)]
    changed += [path for path in notebooks.paths() if notebooks.write_outputs(path)]
    changed += [ops_without_rules.PATH] if ops_without_rules.write() else []
    for path in changed:
        print(f"changed  {path.relative_to(ROOT)}")
    print(f"{len(changed)} of {len(CASES) + len(pages()) + len(notebooks.paths()) + 1} files changed")


if __name__ == "__main__":
    main()
