"""Generated parts of the pages are up to date."""

import re

import numpy as np
import pytest

from docs.build import DOCS, PARTS, build, numpy_table, renewed

VERSION_BOUND = {"numpy", "special", "scipy", "targets"}  # parts that another NumPy or SciPy changes

PACKAGE = DOCS.parent / "tapec"
READMES = sorted(p.parent.relative_to(PACKAGE).as_posix() for p in PACKAGE.rglob("README.md"))


def parts(name: str) -> dict[str, str]:
    text = (DOCS.parent / name).read_text(encoding="utf-8")
    return {m.group(1): m.group(2) for m in re.finditer(r"<!-- begin (\w+) -->\n(.*?)<!-- end -->", text, re.DOTALL)}


FILES = ["README.md", *[f"docs/{p.name}" for p in sorted(DOCS.glob("*.md"))]]
PAGES = [name for name in FILES if parts(name)]


def test_every_generator_has_its_place():
    assert {name for page in PAGES for name in parts(page)} == set(PARTS)


@pytest.mark.parametrize("page", PAGES)
def test_generated_parts_are_up_to_date(page):
    for name, shown in parts(page).items():
        if name not in VERSION_BOUND:
            assert shown.strip() == PARTS[name]().strip(), "run python -m docs.build"


def test_support_table_agrees_with_this_numpy():
    shown = dict(re.findall(r"^\| `(np\.\S+)` (\|.*)$", parts("docs/support.md")["numpy"], re.MULTILINE))
    now = dict(re.findall(r"^\| `(np\.\S+)` (\|.*)$", numpy_table(), re.MULTILINE))
    assert {n: now[n] for n in now if n in shown} == {n: shown[n] for n in now if n in shown}, (
        "run python -m docs.build"
    )
    if np.__version__.startswith("2.4."):  # the table is written with it
        assert sorted(now) == sorted(shown)
    else:
        assert set(now) - {"np.in1d", "np.trapz"} <= set(shown)  # these two are gone since NumPy 2.4


def test_every_folder_is_in_the_list_of_modules():
    root = DOCS.parent / "tapec"
    folders = {p.parent.relative_to(root).as_posix() for p in root.rglob("__init__.py")} - {".", "compat"}
    listed = set(re.findall(r"^###? (\S+)$", PARTS["modules"](), re.MULTILINE))
    assert listed == folders  # compat has nothing but the folder that is named


@pytest.mark.parametrize("folder", READMES)
def test_a_readme_names_every_file_of_its_package(folder):
    words = set(re.findall(r"\w+", (PACKAGE / folder / "README.md").read_text(encoding="utf-8")))
    assert {p.stem for p in (PACKAGE / folder).glob("[!_]*.py")} <= words


def test_table_of_targets_agrees_with_the_ops_that_are_here():
    """NumPy 2.0 lacks two of them."""
    shown = parts("docs/support.md")["targets"].splitlines()
    assert set(PARTS["targets"]().splitlines()) <= set(shown), "run python -m docs.build"


def test_every_large_package_has_a_readme():
    assert {"api", "autodiff", "codegen", "ir", "ops", "passes", "runtime", "trace"} <= set(READMES)


def test_renewing_changes_nothing_but_the_parts():
    text = "before\n<!-- begin settings -->\nold\n<!-- end -->\nafter\n"
    new = renewed(text)
    assert new.startswith("before\n<!-- begin settings -->\n\n| setting |") and new.endswith(
        "|\n\n<!-- end -->\nafter\n"
    )
    assert renewed(new) == new


def test_check_writes_nothing():
    before = {p: p.read_bytes() for p in DOCS.glob("*.md")}
    build(check=True)
    assert {p: p.read_bytes() for p in DOCS.glob("*.md")} == before


def test_chart_shows_what_was_measured():
    from docs.peers import chart, measured

    assert (DOCS / "performance.svg").read_text(encoding="utf-8") == chart(measured())
