"""What `tapec source` gives to a file, or to another program, runs as it is."""

import sys

import numpy as np
import pytest
from scipy import special

from tapec.cli import terminal

MODEL = """
import numpy as np
from scipy import special

W = np.arange(120.0).reshape(40, 3) / 60


def plain(x):
    return np.sum(x**3)


def held(x):
    return np.sum(np.linspace(0.0, 1.0, 300) * x[:, None] ** 2)


def special_function(x):
    return np.sum(special.erf(W * x) ** 2)


def small(x):
    return np.sum(np.tanh(x))


def rows(x):
    return np.sum(x[np.arange(3000) % 1000] ** 2)
"""


@pytest.fixture
def run(tapec, model):
    model.write_text(MODEL)

    def call(name, *args, words=()):
        out = tapec("source", f"model.py:{name}", "--args", *args, *words).out
        space = {}
        exec(compile(out, "out.py", "exec"), space)
        return out, space[f"{name}_grad"]

    return call


def test_it_has_its_imports(run):
    text, found = run("plain", "f64[300]")
    assert text.startswith(("import numpy as np\n\n\n# numpy: ", "# numpy: ")) and ("np." in text) == ("import" in text)
    x = np.linspace(0.0, 1.0, 300)
    assert np.allclose(found(x)[0], 3 * x**2)


def test_it_has_the_arrays_that_it_reads(run):
    _, found = run("held", "f64[40]")
    x = np.linspace(-1.0, 1.0, 40)
    assert np.allclose(found(x)[0], 2 * x * 150.0)


def test_it_imports_scipy(run):
    text, found = run("special_function", "f64[3]")
    assert "import scipy.special\n" in text
    w, x = np.arange(120.0).reshape(40, 3) / 60, np.array([0.1, 0.2, 0.3])
    slope = (2 * special.erf(w * x) * 2 / np.sqrt(np.pi) * np.exp(-((w * x) ** 2)) * w).sum(axis=0)
    assert np.allclose(found(x, w)[0], slope)


def test_it_imports_math(run):
    text, found = run("small", "f64[3]")
    assert text.startswith("import math\n\nimport numpy as np\n\n\n# floats: ")
    assert np.allclose(found(np.ones(3))[0], 1 - np.tanh(1.0) ** 2)


def test_it_has_the_helpers_that_it_calls(run):
    _, found = run("rows", "f64[1000,8]")
    x = np.random.default_rng(0).standard_normal((1000, 8))
    assert np.allclose(found(x)[0], 6 * x)


def test_its_head_tells_for_which_shapes_it_holds(run):
    assert "\n# for x of shape (1000, 8)\n" in run("rows", "f64[1000,8]")[0]


def test_other_targets_need_no_numpy(run):
    text, found = run("held", "f64[40]", words=("--target", "portable"))
    assert "import" not in text
    assert np.allclose(found(np, np.ones(40))[0], 300.0)


def test_a_terminal_shows_the_function_alone(tapec, model, monkeypatch):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("NO_COLOR", "1")
    assert terminal.is_terminal()
    assert tapec("source", "model.py:loss").out.startswith("# numpy: ")
    assert tapec("source", "model.py:loss", "-o", "out.py").out == ""
    assert (model.parent / "out.py").read_text().startswith("import numpy as np\n\n\n# numpy: ")
