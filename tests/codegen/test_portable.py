"""The target that writes for any library of the array API: what its text is, how it is shown, exported, and refused."""

from __future__ import annotations

import runpy

import numpy as np
import pytest

import tapec
from tapec.cli import main
from tapec.codegen.target import TARGETS, target_of
from tapec.errors import TapecError, UnsupportedError
from tapec.runtime.compile import Options
from tapec.runtime.disk_cache.key import key_of
from tests.properties import calls

strict = pytest.importorskip("array_api_strict")


@tapec.value_and_grad
def loss(w, x, y):
    h = np.tanh(x @ w)
    if np.sum(h) > 0:
        return np.mean((h - y) ** 2)
    return np.sum(np.log(1 + np.exp(h - y)))


ARGS = (np.full((3, 2), 0.5), np.ones((4, 3)), np.zeros((4, 2)))


def test_text_is_pure_and_has_branches():
    other = (-ARGS[0], *ARGS[1:])
    loss(*ARGS), loss(*other)
    text = loss.source(*ARGS, target="portable")
    code = [line.partition("  # ")[0] for line in text.splitlines()]
    assert "np." not in "".join(code) and "out=" not in text and "def loss_value_and_grad(xp, w, x, y):" in text
    assert "    if xp.sum(h) > 0" in text
    for args in (ARGS, other):
        code, values = loss.generated(*args)
        function = loss.locate(*args)[1].compiled.renamed(target="portable").function
        found = function(strict, *map(strict.asarray, values))
        for a, b in zip(found, code.function(*values), strict=True):
            np.testing.assert_allclose(np.asarray(a), b)


def test_numbers_are_written_on_arrays_where_that_is_asked_for():
    square = tapec.grad(lambda x: np.sin(x) * x)
    assert calls(square.source(2.0, target="floats"), "math.sin") and calls(
        square.source(2.0, target="numpy"), "np.cos"
    )
    with pytest.raises(UnsupportedError, match="cannot be written for the target floats"):
        tapec.grad(lambda x: np.sum(np.sin(x))).source(np.ones(1000), target="floats")
    with pytest.raises(ValueError, match="there is no target 'fortran'; there are floats, numpy, portable"):
        loss.source(*ARGS, target="fortran")


def test_a_parameter_of_the_function_wins():
    f = tapec.grad(lambda x, target: np.sum((x - target) ** 2))
    assert f.source(np.ones(2), target=np.zeros(2)) == f.source(np.ones(2), np.zeros(2))


def test_what_the_array_api_lacks_is_refused_with_the_line():
    f = tapec.compile(lambda a: np.packbits(a))
    with pytest.raises(
        UnsupportedError, match=r"test_portable.py:\d+: packbits cannot be written for .* portable: the"
    ):
        f.source(np.arange(3) > 1, target="portable")
    g = tapec.compile(lambda x: x * 2)
    with pytest.raises(UnsupportedError, match="the array API has no float16"):
        g.source(np.ones(2, np.float16), target="portable")


CAPTURED = np.array([1.0, np.inf, 2.0])


def test_exported_modules_take_arrays_of_any_library(tmp_path):
    """The structure of arguments and results is kept, and no NumPy is imported."""

    @tapec.value_and_grad
    def f(p, x, *, k=2.0):
        return np.sum(np.tanh(x @ p["w"]) * np.exp(-CAPTURED)) * k

    p, x = {"w": np.full((2, 3), 0.5)}, np.ones((4, 2))
    path = tmp_path / "f.py"
    f.export(path, p, x, target="portable")
    assert "numpy" not in path.read_text(encoding="utf-8").replace("numpy, jax.numpy", "")
    made = runpy.run_path(str(path))
    value, gradient = made["f_value_and_grad"](strict, {"w": strict.asarray(p["w"])}, strict.asarray(x))
    expected = f(p, x)
    np.testing.assert_allclose(np.asarray(value), expected[0])
    np.testing.assert_allclose(np.asarray(gradient["w"]), expected[1]["w"])
    with pytest.raises(made["Mismatch"], match=r"x is float64\[2, 2\]; this code was generated for float64\[4, 2\]"):
        made["f_value_and_grad"](strict, {"w": strict.asarray(p["w"])}, strict.ones((2, 2)))
    g = tapec.compile(lambda xp: xp * 2)
    with pytest.raises(TapecError, match="it has a parameter 'xp' itself"):
        g.export(path, np.ones(2), target="portable")


def test_commands_write_for_a_target(tmp_path, capsys):
    model = tmp_path / "model.py"
    model.write_text("import numpy as np\ndef loss(x):\n    return np.sum(np.sin(x))\n")
    assert main(["source", f"{model}:loss", "--args", "f64[3]", "--target", "portable"]) == 0
    assert "xp.cos(x)" in capsys.readouterr().out
    out = tmp_path / "out.py"
    assert main(["export", f"{model}:loss", "--args", "f64[3]", "--target", "portable", "-o", str(out)]) == 0
    found = runpy.run_path(str(out))["loss_grad"](strict, strict.zeros(3, dtype=strict.float64))
    np.testing.assert_array_equal(np.asarray(found), np.ones(3))


@pytest.mark.parametrize("name", sorted(TARGETS))
def test_every_target_says_who_it_is(name):
    target = target_of(name)
    assert target.name == name and target.version >= 1
    assert all(p.does for p in target.passes)


def test_name_and_version_are_in_the_key_on_disk(monkeypatch):
    graph = loss.ir(*ARGS)
    keys = [key_of(graph, Options("f", target=name)).text for name in (None, "numpy", "portable")]
    monkeypatch.setattr(target_of("portable"), "version", 2)
    keys.append(key_of(graph, Options("f", target="portable")).text)
    monkeypatch.setattr(target_of("floats"), "version", 2)
    keys.append(key_of(graph, Options("f")).text)  # floats may be what runs
    assert len(set(keys)) == 5
