"""All code in the pages runs and prints what they show; generated pages are up to date; links lead somewhere."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from docs.blocks import ROOT, Mismatch, blocks_of, matches, pages, run_page, write_outputs

NAMES = [str(p.relative_to(ROOT)) for p in pages()]


@pytest.mark.parametrize("name", NAMES)
def test_code_runs_and_prints_what_the_page_shows(name):
    run = subprocess.run(
        [sys.executable, "-m", "docs.blocks", "--here", name], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr


@pytest.mark.parametrize("name", NAMES)
def test_links_lead_somewhere(name):
    page = ROOT / name
    text = re.sub(r"```.*?```|`[^`\n]*`", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if not target.startswith(("http://", "https://", "#")):
            path, _, anchor = target.partition("#")
            there = (page.parent / path).resolve()
            assert there.exists(), f"{name} links to {target}"
            if anchor and there.suffix == ".md":
                assert anchor in anchors(there), f"{name} links to {target}, which has no such heading"


def anchors(path: Path) -> set[str]:
    """The anchors that GitHub gives to headings."""
    text = re.sub(r"```.*?```", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    heads = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", h.lower()).strip().replace(" ", "-") for h in heads}


# -- the runner itself -----------------------------------------------------------------------------------------------
def page(tmp_path, text: str) -> Path:
    path = tmp_path / "page.md"
    path.write_text(text)
    return path


def test_runner_finds_blocks(tmp_path):
    text = "a\n```python\nx = 1\n```\n<!-- not run: why -->\n```python\n1 / 0\n```\n- item\n\n  ```text\n  out\n  ```\n"
    found = [(b.language, b.text, b.line, b.shown_only) for b in blocks_of(text)]
    assert found == [("python", "x = 1\n", 3, False), ("python", "1 / 0\n", 7, True), ("text", "out\n", 12, False)]


def test_a_block_that_needs_a_missing_package_does_not_run_but_has_its_lines(tmp_path):
    text = "<!-- needs: no_such_package -->\n```python\n1 / 0\n```\n```python\nprint(f.__code__.co_firstlineno)\n```\n"
    code = "```python\ndef f():\n    pass\n```\n"
    assert run_page(page(tmp_path, code + text + "```text\n1\n```\n")) == 2
    assert run_page(page(tmp_path, text.replace("f.__code__", "(lambda: 0).__code__") + "```text\n2\n```\n")) == 1
    with pytest.raises(Mismatch, match="ZeroDivisionError"):
        run_page(page(tmp_path, text.replace("no_such_package", "json")))


def test_a_file_with_output_runs_as_that_file(tmp_path):
    text = "```python\n# file: model.py\nprint((lambda: 0).__code__.co_filename)\n```\n```text\nmodel.py\n```\n"
    assert run_page(page(tmp_path, text)) == 1


def test_runner_shares_a_namespace_and_checks_output(tmp_path):
    good = "```python\nx = 1\n```\n```python\nprint(x + 1)\n```\n```text\n2\n```\n"
    assert run_page(page(tmp_path, good)) == 2
    with pytest.raises(Mismatch, match=r"page.md:8 shows\n3\n\nbut the code gives\n2"):
        run_page(page(tmp_path, good.replace("\n2\n", "\n3\n")))


def test_runner_checks_announced_errors(tmp_path):
    text = "```python\n{}['key']\n```\n```text\nKeyError: 'key'\n```\n"
    run_page(page(tmp_path, text))
    with pytest.raises(Mismatch):
        run_page(page(tmp_path, text.replace("KeyError: 'key'", "ValueError: 'key'")))
    with pytest.raises(Mismatch, match="ZeroDivisionError"):
        run_page(page(tmp_path, "```python\n1 / 0\n```\n"))


def test_runner_writes_files_and_runs_commands(tmp_path):
    commands = "$ cat m.py | head -1\n# file: m.py\n$ false || echo no\nno\n"
    text = f"```python\n# file: m.py\nA = 5\n```\n```console\n{commands}```\n"
    run_page(page(tmp_path, text + "```python\nimport m\nassert m.A == 5\n```\n"))
    with pytest.raises(Mismatch):
        run_page(page(tmp_path, text.replace("\nno\n", "\nyes\n")))


def test_runner_can_write_the_real_output(tmp_path):
    path = page(tmp_path, "```python\nprint('b')\n```\n```text\na\n```\n\n```console\n$ echo c\nwrong\n```\nend\n")
    run_page(path, write=True)
    assert path.read_text() == "```python\nprint('b')\n```\n```text\nb\n```\n\n```console\n$ echo c\nc\n```\nend\n"


def test_outputs_are_written_once(tmp_path):
    path = page(tmp_path, "```python\nprint('b')\n```\n```text\na\n```\n")
    assert write_outputs(path) and path.read_text().endswith("```text\nb\n```\n")
    assert not write_outputs(path)


@pytest.mark.parametrize(
    ("expected", "got", "same"),
    [
        ("1.23", "1.2345", True),
        ("1.23", "1.2451", False),
        ("[1.  2.5]", "[1. 2.5000001]", True),
        ("3", "4", False),
        ("a ... d", "a b c d", True),
        ("1.5e-07", "1.52e-07", True),
        ("1.5e-07", "1.62e-07", False),
        ("x1.5", "x1.6", False),
        ("3.5e-16", "5.3e-16", True),
        ("3.5e-16", "5.3e-11", False),
        ("0.0", "5.3e-11", True),
    ],
)
def test_runner_compares_numbers_to_the_digits_shown(expected, got, same):
    assert matches(expected, got) == same
