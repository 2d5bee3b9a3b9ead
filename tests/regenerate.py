"""Writes all exact text of generated code anew: `python -m tests.regenerate`; its diff is what a reviewer reads.

Two places hold such text: the ten golden functions in tests/codegen/golden, and the outputs in README.md and docs/*.md.
Where nothing changed, nothing is written: tests/codegen/test_golden.py and tests/docs/test_pages.py ask for that.
"""

from __future__ import annotations

from docs.blocks import ROOT, pages, write_outputs
from tests.codegen import golden
from tests.codegen.golden_functions import CASES


def main() -> None:
    """Write golden functions and pages, and name those that changed."""
    changed = [golden.path_of(name) for name in CASES if golden.write(name)]
    changed += [path for path in pages() if write_outputs(path)]
    for path in changed:
        print(f"changed  {path.relative_to(ROOT)}")
    print(f"{len(changed)} of {len(CASES) + len(pages())} files changed")


if __name__ == "__main__":
    main()
