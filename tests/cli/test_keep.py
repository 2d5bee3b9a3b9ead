"""export, diff, run."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

SCRIPT = """\
import sys

import numpy as np
import tapec

w = tapec.Variable(np.zeros(3))
x = np.arange(12.0).reshape(4, 3)
for step in range(3):
    with tapec.GradientTape() as tape:
        loss = np.mean((x @ w - 1.0) ** 2)
    w.assign_sub(0.01 * tape.gradient(loss, w))


@tapec.value_and_grad
def energy(a):
    return np.sum(np.sin(a))


energy(np.ones(4))
energy(np.ones(4))


def broken():
    return 1 / 0


print("words", sys.argv[1:])
if "broken" in sys.argv:
    broken()
if "exit" in sys.argv:
    sys.exit(7)
if "bad" in sys.argv:
    energy("text")
"""


@pytest.fixture
def script(model):
    path = model.parent / "script.py"
    path.write_text(SCRIPT)
    return path


# -- run -----------------------------------------------------------------------------------------------------------
def test_run_lists_functions_and_tape_gradients(tapec_process, script):
    result = tapec_process("run", "script.py", "--epochs", "3")
    assert result.code == 0
    lines = result.out.splitlines()
    assert lines[0] == "words ['--epochs', '3']"
    assert lines[1] == "compiled 2 functions:"
    names = [line.split()[0] for line in lines[3:5]]
    assert names == ["loss_grad", "energy_value_and_grad"]
    assert "a: f64[4]" in lines[4]


def test_run_shows_and_exports(tapec_process, script):
    shown = tapec_process("run", "--show", "energy*", "script.py").out
    assert "def energy_value_and_grad(a):" in shown and "loss_grad" not in shown  # after what the script prints
    assert tapec_process("run", "--show", "missing", "script.py").code == 2
    assert tapec_process("run", "--export", "out", "script.py").code == 0
    assert sorted(p.name for p in (script.parent / "out").iterdir()) == ["energy_value_and_grad.py", "loss_grad.py"]
    space: dict = {}
    exec((script.parent / "out" / "energy_value_and_grad.py").read_text(), space)
    value, gradient = space["energy_value_and_grad"](np.ones(4))
    assert np.isclose(value, 4 * np.sin(1.0)) and np.allclose(gradient, np.cos(1.0))


def test_run_for_programs(tapec_process, script):
    result = tapec_process("run", "--json", "script.py")
    found = json.loads(result.out)
    assert [f["name"] for f in found] == ["loss_grad", "energy_value_and_grad"]
    assert found[1]["inputs"] == [{"name": "a", "type": "f64[4]"}]
    assert result.err == "words []\n"


def test_a_script_that_fails_shows_its_own_traceback(tapec_process, script):
    result = tapec_process("run", "script.py", "broken")
    assert result.code == 1
    assert result.err.startswith("Traceback (most recent call last):\n")
    assert "line 24, in broken" in result.err and result.err.endswith("ZeroDivisionError: division by zero\n")
    assert "/tapec/" not in result.err and "runpy" not in result.err
    assert "compiled 2 functions" in result.out


def test_an_error_in_a_script_shows_no_frame_of_ours(tapec_process, script):
    result = tapec_process("run", "script.py", "bad")
    assert result.code == 1
    assert "TypeError" in result.err and "/tapec/" not in result.err
    assert 'energy("text")' in result.err


def test_all_frames_where_they_are_asked_for(tapec_process, script):
    result = tapec_process("run", "script.py", "bad", env={"TAPEC_TRACEBACK": "full"})
    assert result.code == 1 and 'energy("text")' in result.err
    assert os.path.join("tapec", "api", "") in result.err and "runpy" in result.err


def test_the_exit_code_of_a_script_is_kept(tapec_process, script):
    assert tapec_process("run", "script.py", "exit").code == 7


def test_a_script_that_compiles_nothing(tapec_process, model):
    assert tapec_process("run", "model.py").out == "nothing was compiled\n"


# -- export --------------------------------------------------------------------------------------------------------
def test_an_exported_module_runs_without_tapec(tapec, model):
    assert tapec("export", "model.py:loss", "-o", "shipped.py").out == "wrote shipped.py\n"
    code = (
        "import sys; sys.modules['tapec'] = None\n"
        "import numpy as np, shipped\n"
        "x, y = np.linspace(0, 1, 20).reshape(5, 4), np.ones((5, 2))\n"
        "print(shipped.loss_grad(np.full((4, 2), 0.3), np.zeros(2), x, y).tolist())"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    import model as user

    import tapec as module

    assert np.allclose(eval(run.stdout), module.grad(user.loss)(*user.loss.example_args))


def test_a_module_that_cannot_be_written_is_told(tapec, model):
    result = tapec("export", "model.py:loss", "-o", "missing/shipped.py")
    assert result.code == 2 and result.err == "tapec export: missing/shipped.py: No such file or directory\n"


def test_export_of_graph_text(tapec, model):
    from tests.cli.test_look import GRAPH

    (model.parent / "g.ir").write_text(GRAPH)
    x, w = np.arange(3.0), np.full(3, 0.5)
    for words, name, expected in (([], "graph", x @ w), (["--transform", "grad"], "graph_grad", [w, x])):
        assert tapec("export", "g.ir", "-o", "shipped_graph.py", *words).code == 0
        space = {}
        exec((model.parent / "shipped_graph.py").read_text(), space)
        np.testing.assert_allclose(space[name](x, w), expected)


def test_there_is_no_module_of_a_jvp(tapec, model):
    result = tapec("export", "model.py:loss", "--transform", "jvp", "-o", "x.py")
    assert result.code == 2 and "there is no module of a jvp: `tapec source` prints its code" in result.err


# -- diff ----------------------------------------------------------------------------------------------------------
def changed(model, old: str, new: str) -> str:
    text = model.read_text()
    assert old in text
    (model.parent / "other.py").write_text(text.replace(old, new))
    return "other.py:loss"


def test_diff_of_the_same(tapec, model):
    other = changed(model, "h = np.tanh(x @ w + b)\n    r = h - y", "r = np.tanh(x @ w + b) - y  # shorter")
    result = tapec("diff", "model.py:loss", other)
    assert result.code == 0
    assert result.out == "function: same\ngradient: same\n"


def test_diff_of_another_way_to_the_same_values(tapec, model):
    other = changed(model, "np.mean(r * r)", "np.sum(np.abs(r) ** 2) / r.size")
    result = tapec("diff", "model.py:loss", other, "--json")
    found = json.loads(result.out)
    assert result.code == 0 and found["same"]
    assert found["function"]["verdict"] in ("same", "same values")


def test_diff_of_other_values(tapec, model):
    other = changed(model, "np.mean(r * r)", "np.mean(r ** 4)")
    result = tapec("diff", "model.py:loss", other)
    assert result.code == 1
    assert result.out.startswith("function: differs. Results differ relative to their size: by ")
    assert "gradient: differs" in result.out


def test_diff_of_other_values_for_negative_numbers(tapec, model):
    (model.parent / "a.py").write_text("import numpy as np\ndef f(x): return np.sum(x**2)\n")
    (model.parent / "b.py").write_text("import numpy as np\ndef f(x): return np.sum(np.abs(x) * x)\n")
    result = tapec("diff", "a.py:f", "b.py:f", "--args", "f64[3]")
    assert result.code == 1 and "function: differs" in result.out


def test_diff_of_functions_that_branch_says_which_path_it_compared(tapec, model):
    text = "import numpy as np\ndef f(x): return np.sum(x**2) if x[0] > 0 else np.sum(np.sin(x))\n"
    (model.parent / "a.py").write_text(text)
    (model.parent / "b.py").write_text(text.replace("sin", "exp"))
    result = tapec("diff", "a.py:f", "b.py:f", "--args", "f64[3]")
    assert result.code == 0 and result.out.count("the path that the arguments take") == 2
    assert tapec("diff", "a.py:f", "b.py:f", "--args", "(-np.ones(3))").code == 1


def test_diff_of_other_arguments(tapec, model):
    other = changed(model, "np.zeros(2), np.lin", "np.zeros(1), np.lin")
    result = tapec("diff", "model.py:loss", other)
    assert result.code == 1
    assert "It takes w: f64[4,2], b: f64[1], " in result.out


@pytest.mark.thorough
def test_diff_between_git_revisions(tapec, model):
    def git(*words):
        who = ["-c", "user.name=a", "-c", "user.email=a@b"]
        subprocess.run(["git", *who, *words], cwd=model.parent, check=True, capture_output=True)

    helper = model.parent / "helper.py"
    helper.write_text("SCALE = 1.0\n")
    model.write_text(
        model.read_text()
        .replace("return np.mean", "return helper.SCALE * np.mean")
        .replace("import", "import helper\nimport", 1)
    )
    git("init", "-q")
    git("add", ".")
    git("commit", "-qm", "one")
    assert tapec("diff", "HEAD", "model.py:loss").code == 0
    # What the function relies on changes; Python takes a file as long, of the same second, for the one it compiled.
    helper.write_text("SCALE = 20.0\n")
    assert tapec("diff", "HEAD", "model.py:loss").code == 1
    git("commit", "-qam", "two")
    assert tapec("diff", "HEAD", "model.py:loss").code == 0
    assert tapec("diff", "HEAD~1:model.py:loss", "HEAD:model.py:loss").code == 1
    result = tapec("diff", "HEAD~7", "model.py:loss")
    assert result.code == 2 and "HEAD~7" in result.err


def test_diff_of_graph_text(tapec, model):
    from tests.cli.test_look import GRAPH

    (model.parent / "a.ir").write_text(GRAPH)
    (model.parent / "b.ir").write_text(GRAPH.replace("multiply %x, %w", "multiply %w, %x"))
    (model.parent / "c.ir").write_text(GRAPH.replace("multiply %x, %w", "add %x, %w"))
    assert tapec("diff", "a.ir", "b.ir").code == 0
    assert tapec("diff", "a.ir", "c.ir").code == 1
    assert tapec("diff", "a.ir", "model.py:loss").code == 1
    assert tapec("diff", "a.ir", "none.ir").code == 2


def test_diff_reports_what_is_wrong_with_a_version(tapec, model):
    result = tapec("diff", "model.py:loss", "model.py:lose")
    assert result.code == 2
    assert "model.py:lose: model.py has no 'lose'; did you mean loss" in result.err
