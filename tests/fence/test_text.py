"""The comparison of generated text: what counts as a difference, and that the recorder sees what is generated."""

import os
import re
from pathlib import Path

import pytest

from tests.fence.__main__ import main
from tests.fence.checkouts import PARTS, ROOT, copy, lay_out
from tests.fence.hook.sitecustomize import name_of
from tests.fence.text import Run, compare_runs, run_program, without_lines, without_place


def run(*texts, failure=""):
    return Run([("function", *t) for t in texts], failure)


def test_equal_texts_in_another_order_are_equal():
    found = compare_runs("p", run(("f", "a"), ("g", "b")), run(("g", "b"), ("f", "a")))
    assert found.equal and found.functions == 2


def test_a_changed_text_is_shown_as_a_diff():
    found = compare_runs("p", run(("f", "x = 1\ny = 2"), ("f", "b")), run(("f", "b"), ("f", "x = 1\ny = 3")))
    assert not found.equal
    assert [d.splitlines()[-3:] for d in found.differences] == [[" x = 1", "-y = 2", "+y = 3"]]


def test_functions_that_come_and_go_are_differences():
    found = compare_runs("p", run(("f", "a"), ("f", "a")), run(("f", "a"), ("g", "a")))
    assert len(found.differences) == 2


def test_line_numbers_can_be_ignored():
    old, new = run(("f", "x = 1  # page.py:3   one")), run(("f", "x = 1  # page.py:14   one"))
    assert not compare_runs("p", old, new).equal
    assert compare_runs("p", old, new, ignore_lines=True).equal
    assert without_lines("x = a[1:3]  # p.py:3   b[1:2]") == "x = a[1:3]  # p.py:_   b[1:2]"


def test_folders_and_addresses_are_no_differences():
    text = "f_140170841529120(x) # /a/b/p.py"
    assert without_place("stub", text, Path("/a/b")) == "f_(x) # <root>/p.py"
    assert without_place("function", text, Path("/a/b")) == "f_140170841529120(x) # <root>/p.py"


def test_stubs_count_on_demand():
    old, new = Run([("stub", "calls", "a")], ""), Run([("stub", "calls", "b")], "")
    assert compare_runs("p", old, new).equal
    assert not compare_runs("p", old, new, stubs=True).equal


def test_a_program_that_fails_or_generates_nothing_is_not_equal():
    failed = run(failure="Traceback\nValueError: no")
    assert str(compare_runs("p", run(), failed)) == "**fails: ValueError: no, 0 differ**"
    assert str(compare_runs("p", run(("f", "a")), run())) == "**generates nothing, 1 differ**"
    assert str(compare_runs("p", failed, failed)) == "equal (both fail: ValueError: no)"


def test_names_of_generated_files():
    folder = os.path.join("somewhere", "tapec", "generated")
    assert name_of(os.path.join(folder, "loss_grad_12.py")) == "loss_grad"
    assert name_of(os.path.join(folder, "loss_grad.py")) == "loss_grad"
    assert name_of(os.path.join("somewhere", "loss_grad.py")) is None


def test_the_recorder_sees_functions_of_the_process_and_of_those_that_it_starts():
    inner = "import numpy as np, tapec; tapec.grad(lambda x: np.sum(np.sin(x) * x))(np.ones(3))"
    code = f"import subprocess, sys; {inner}; subprocess.run([sys.executable, '-c', {inner!r}], check=True)"
    found = run_program(ROOT, ["-c", code])
    assert not found.failure
    texts = [text for kind, _, text in found.texts if kind == "function"]
    assert len(texts) == 2 and texts[0] == texts[1] and "cos(" in texts[0]


def test_the_command_compares_two_folders(capsys):
    assert main([str(ROOT), str(ROOT), "--text", "--only", "golden"]) == 0
    out = capsys.readouterr().out
    assert "| tests: golden | 10 | equal |" in out and out.endswith("all within the fence\n")


SLOWER = """
import sys

def value_and_grad(*args, made=sys.modules[__name__].value_and_grad, **kwargs):
    f = made(*args, **kwargs)
    return lambda *values: f(*values)
"""


@pytest.mark.thorough
def test_the_command_finds_changes(tmp_path, capsys):
    for part in PARTS:
        copy(ROOT / part, tmp_path / part)
    init = tmp_path / "tapec" / "__init__.py"
    init.write_text(init.read_text() + SLOWER)
    assert main([str(ROOT), str(tmp_path), "--calls", "--only", "rosenbrock 10"]) == 1
    out = capsys.readouterr().out
    third = re.findall(r"\*\*(\d+) → (\d+) \(\+\d+%\)\*\*", out)[-1]
    assert int(third[1]) == int(third[0]) + 1
    assert "beyond the fence:\n- Python calls: rosenbrock 10\n" in out


def test_a_revision_that_does_not_exist_is_told(tmp_path):
    with pytest.raises(SystemExit, match="Fix: give a revision"):
        lay_out("no-such-revision", tmp_path / "x")
