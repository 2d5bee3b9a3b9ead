"""Help that teaches, exit codes, and messages instead of tracebacks."""

import json
import os
import subprocess
import sys

import pytest

from tapec.cli.main import COMMANDS

NAMES = [name for _, names in COMMANDS for name in names]


def test_without_words_help_is_shown(tapec):
    result = tapec()
    assert result.code == 0
    assert all(f"    {name}" in result.out for name in NAMES)
    assert "TARGET is what most commands look at" in result.out


@pytest.mark.parametrize("name", NAMES)
def test_help_of_each_command_has_examples_that_parse(tapec, name):
    result = tapec(name, "--help")
    assert result.code == 0
    examples = [line for line in result.out.splitlines() if f"tapec {name}" in line and not line.startswith("usage")]
    assert examples, result.out


def test_version(tapec):
    from tapec import __version__

    assert tapec("--version").out == f"tapec {__version__}\n"


@pytest.mark.parametrize("words", [["sorce"], ["source"], ["source", "model.py:loss", "--frobnicate"]])
def test_wrong_words_are_exit_code_2(tapec, words):
    result = tapec(*words)
    assert result.code == 2
    assert result.err.startswith("usage: tapec") and "error:" in result.err


def test_arguments_that_stand_alone_are_told_where_they_belong(tapec):
    result = tapec("source", "model.py:loss", "np.zeros(2)")
    assert result.code == 2
    assert "unrecognized arguments: np.zeros(2); what to trace with comes after --args" in result.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["source", "nowhere.py:loss"], "tapec source: there is no file nowhere.py"),
        (
            ["source", "nowhere:loss"],
            "there is no module nowhere (and no file of that name: a file's name ends in .py)",
        ),
        (["source", "model.py:los"], "model.py has no 'los'; did you mean loss?"),
        (
            ["source", "model.py"],
            "which function? Write model.py:NAME (it has loss, total, kinked, vector, picky, nothing)",
        ),
        (["source", "model.py:"], "which function? Write model.py:NAME"),
        (["source", "model.py:number"], "model.py:number is no function but int 3"),
        (
            ["source", "model.py:total"],
            "model.py:total is total(x): which arguments? Give types or values, --args 'f64[3]'",
        ),
        (["source", "model.py:total", "--args", "f65[3]"], "no dtype is called 'f65'; there are f64, f32"),
        (["source", "model.py:total", "--args", "np.oness(3)"], "--args 'np.oness(3)': AttributeError"),
        (["source", "model.py:total", "--args", "1 +"], "--args '1 +': SyntaxError"),
        (
            ["source", "model.py:total", "--args", "f64[3]", "--wrt", "y"],
            "there is no argument 'y'; the arguments are x",
        ),
        (["source", "model.py:total", "--args", "f64[3]", "f64[3]"], "too many positional arguments"),
        (["source", "model.py:total", "--args", "i64[3]"], "has no gradient. Fix: pass floats"),
        (["source", "model.py:vector", "--args", "f64[3]"], "tapec source: model.py:22: grad: the loss"),
        (["source", "model.py:vector", "--args", "f64[3]"], "Fix: reduce it (np.sum, np.mean), or use tapec.jacobian"),
        (["source", "model.py:picky", "--args", "f64[3]"], "model.py:28: ValueError: x must be a matrix, not 1-d"),
        (["source", "missing.ir"], "missing.ir: No such file or directory. A function is written FILE.py:NAME"),
        (["opt", "missing.ir"], "missing.ir: No such file or directory\n"),
        (["diff", "model.py:total", "model.py:loss"], "tapec diff: model.py:total is total(x): which arguments?"),
        (["opt", "--passes", "fold,csee", "-"], "no pass is called 'csee'; there are"),
        (["graph", "model.py:loss", "-o", "g.bmp"], "g.bmp: a picture is a file that ends in .svg, .dot, .png or .pdf"),
        (["source", "model.py:loss", "-o", "no/such/folder.py"], "no/such/folder.py"),
        (["diff", "HEAD", "HEAD~1"], "neither HEAD nor HEAD~1 names a function"),
        (["run", "nowhere.py"], "there is no file nowhere.py"),
        (["cache", "list"], "TAPEC_CACHE_DIR is not set"),
        (["source", "model.py:"], "tapec source: model.py: which function? Write model.py:NAME"),
        (["source", "argparse:Namespace"], "argparse:Namespace is a class: name a method of it, or a function"),
        (["source", "model.py:total", "--args", "f64[3]", "-o", "no/x.py"], "tapec source: no/x.py: No such file"),
    ],
)
def test_a_wrong_call_is_one_message(tapec, model, words, message):
    result = tapec(*words)
    assert result.code == 2
    assert result.err.startswith(f"tapec {words[0]}: ")
    assert message in result.err
    assert "Traceback" not in result.err
    assert result.out == ""


def test_a_module_that_fails_shows_the_users_lines_alone(tapec, model):
    model.write_text("import numpy as np\n\ndef f():\n    return np.linalg.inv(np.zeros((2, 3)))\n\nf()\n")
    result = tapec("source", "model.py:f")
    assert result.code == 2
    assert result.err.startswith("tapec source: model.py cannot be imported\nTraceback (most recent call last):\n")
    assert "line 6, in <module>" in result.err and "LinAlgError" in result.err
    assert "/tapec/" not in result.err and "importlib" not in result.err


def test_a_setting_that_cannot_be_read_is_one_message(tapec_process, model):
    result = tapec_process("source", "model.py:loss", env={"TAPEC_THREADS": "many"})
    assert (result.code, result.out, result.err) == (2, "", "tapec: TAPEC_THREADS=many: write a whole number\n")


def test_debug_shows_our_traceback_too(tapec, model, monkeypatch):
    monkeypatch.setenv("TAPEC_DEBUG", "1")
    result = tapec("source", "model.py:los")
    assert result.code == 2 and "Problem: model.py has no 'los'" in result.err


def test_colour_only_where_it_is_wanted(tapec, model, monkeypatch):
    assert "\x1b[" not in tapec("source", "model.py:loss").out
    colored = tapec("source", "model.py:loss", "--color", "always").out
    assert "\x1b[35mdef\x1b[0m" in colored
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert tapec("source", "model.py:loss").out == colored
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[" not in tapec("source", "model.py:loss").out


def test_as_a_program(tapec_process, model):
    result = tapec_process("explain", "model.py:loss", "--json")
    assert result.code == 0 and result.err == ""
    assert json.loads(result.out)["name"] == "loss_grad"


def test_a_reader_who_has_seen_enough_is_no_error(model):
    run = subprocess.run(
        f"{sys.executable} -m tapec source model.py:loss | true",
        shell=True,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.stderr == "" and run.returncode == 0


def test_the_target_may_come_from_a_package(tapec, model, monkeypatch):
    (model.parent / "package").mkdir()
    (model.parent / "package" / "__init__.py").write_text("")
    (model.parent / "package" / "losses.py").write_text(
        "from dataclasses import dataclass\nimport numpy as np\n\n@dataclass\nclass Model:\n    k: float = 2.0\n"
        "    def loss(self, x):\n        return self.k * np.sum(x)\n\nmodel = Model()\n"
    )
    result = tapec("source", "package.losses:model.loss", "--args", "f64[3]")
    assert result.code == 0 and "def loss_grad(" in result.out


def test_importing_the_command_line_is_light():
    code = "import sys, tapec.cli; print([m for m in ('scipy', 'optree', 'matplotlib', 'astor') if m in sys.modules])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=dict(os.environ))
    assert run.stdout == "[]\n"


@pytest.mark.parametrize("command", ["bench", "profile"])
@pytest.mark.parametrize("seconds", ["-1", "0", "nan", "soon"])
def test_measuring_takes_time(tapec, model, command, seconds):
    result = tapec(command, "model.py:loss", "--seconds", seconds)
    assert result.code == 2
    assert f"argument --seconds: invalid number of seconds value: '{seconds}'" in result.err


def test_an_error_that_names_a_line_is_given_no_other(tapec, model):
    """The last line of the user's that ran is the one that called; the message knows better."""
    model.write_text(
        "import numpy as np\nfrom scipy import special\n\n\ndef lse(a):\n    return special.logsumexp(a)\n"
        "\n\ndef total(x):\n    return lse(np.sin(x))\n"
    )
    result = tapec("source", "model.py:total", "--args", "f64[3]")
    assert result.code == 2 and result.err.startswith("tapec source: model.py:6: scipy.special's logsumexp takes")


def test_a_function_of_numpys_stands_for_its_line(tapec, model):
    assert "# sum:1" in tapec("source", "numpy:sum", "--args", "f64[300]").out


WAYS_TO_SAY = """
class Model:
    def energy(self, x):
        return np.sum(x)

    @staticmethod
    def alone(x):
        return np.sum(x)

    @classmethod
    def of_class(cls, x):
        return np.sum(x)


held = Model()
square = lambda x: np.sum(x * x)
part = __import__("functools").partial(lambda k, x: np.sum(k * x), 2.0)
"""


@pytest.mark.parametrize(
    ("word", "shown", "place"),
    [
        ("held.energy", "energy(x)", "Model.energy"),
        ("held.alone", "alone(x)", "held.alone"),
        ("Model.alone", "alone(x)", "Model.alone"),
        ("Model.of_class", "of_class(x)", "Model.of_class.__func__"),
        ("square", "square(x)", "square"),
        ("part", "part(x)", "part"),
    ],
)
def test_where_the_arguments_may_be_given(tapec, model, word, shown, place):
    """What the message says to write can be written, and is what the command looks for."""
    text = model.read_text() + WAYS_TO_SAY
    model.write_text(text)
    error = tapec("source", f"model.py:{word}").err
    assert f"model.py:{word} is {shown}: which arguments?" in error
    assert error.rstrip().endswith(f"or set {place}.example_args = (...) in its file")
    model.write_text(f"{text}\n{place}.example_args = (np.ones(3),)\n")
    assert tapec("source", f"model.py:{word}").code == 0


WITH_DEFAULTS = """
fitted = lambda w=np.ones(3), *, k=2.0: np.sum(k * w * w)
half = lambda x, w=np.zeros((40, 40)): np.sum(x * w)
any_number = lambda *xs: np.sum(xs)
least = min
"""


def test_parameters_that_have_defaults_need_no_arguments(tapec, model):
    model.write_text(model.read_text() + WITH_DEFAULTS)
    result = tapec("source", "model.py:fitted")
    assert result.code == 0 and "def function_grad(w, k=2.0):" in result.out


@pytest.mark.parametrize("shown", ["half(x, w=...)", "any_number(*xs)", "least(...)"])
def test_which_arguments_are_asked_for(tapec, model, shown):
    """Long defaults are not spelled out; some of Python's own functions do not tell their parameters."""
    model.write_text(model.read_text() + WITH_DEFAULTS)
    name = shown.partition("(")[0]
    assert f"model.py:{name} is {shown}: which arguments?" in tapec("source", f"model.py:{name}").err


EVIL = """graph f(%x: f64[3]) {
  %0: f64[3] = round %x {decimals='(open("canary", "w"), 0)[1]'}
  %1: f64[] = sum %0 {axis=(0,), keepdims=False}
  return %1
}"""


@pytest.mark.parametrize(
    "command", ["bench", "profile", "check", "source", "explain", "graph", "opt", "explore", "export"]
)
def test_graph_text_of_a_stranger_runs_nothing(tapec, model, command):
    (model.parent / "evil.ir").write_text(EVIL)
    result = tapec(command, "evil.ir", *(["-o", "out.py"] if command == "export" else []))
    assert result.code == 2
    assert "evil.ir, line 2, column 16: round has" in result.err and "as decimals, which should be an" in result.err
    assert not (model.parent / "canary").exists()
