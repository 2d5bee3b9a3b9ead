"""Words that are nearly right, methods of classes, and vmap."""

import numpy as np
import pytest

from tapec.cli import terminal


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["sorce"], "there is no command 'sorce'; did you mean source?"),
        (["xyz"], "there is no command 'xyz'; there are source, explain, ir,"),
        (["source", "model.py:loss", "--transfrom", "grad"], "--transfrom grad; did you mean --transform?"),
        (["source", "model.py:loss", "--transform", "gard"], "--transform: there is no 'gard'; did you mean grad?"),
        (["explain", "model.py:loss", "--jsn"], "unrecognized arguments: --jsn; did you mean --json?"),
        (["cache", "lst"], "action: there is no 'lst'; did you mean list?"),
    ],
)
def test_nearly_right(tapec, model, words, told):
    result = tapec(*words)
    assert result.code == 2 and told in result.err
    assert result.err.startswith("usage: tapec")


CLASSES = """

class Layer:
    def __init__(self, n=3):
        self.w = np.full(n, 2.0)

    def loss(self, x):
        return np.sum(self.w * x * x)

    @staticmethod
    def norm(x):
        return np.sum(x * x)

    class Inner:
        def total(self, x):
            return np.sum(x)


class Sized:
    def __init__(self, n):
        self.w = np.ones(n)

    def loss(self, x):
        return np.sum(self.w * x)
"""


def test_methods_of_classes(tapec, model):
    model.write_text(model.read_text() + CLASSES)
    for name in ("Layer.loss", "Layer.norm", "Layer.Inner.total"):
        result = tapec("check", f"model.py:{name}", "--args", "f64[3]")
        assert result.code == 0, result.err
    assert "captured" in tapec("explain", "model.py:Layer.loss", "--args", "f64[3]").out
    result = tapec("source", "model.py:Sized.loss", "--args", "f64[3]")
    assert result.code == 2
    assert "model.py:Sized.loss is a method, and Sized() makes no object (" in result.err
    assert "Make one in the file, sized = Sized(...), and name sized.loss" in result.err
    result = tapec("source", "model.py:Layer")
    assert "name a method of it, or a function (model.py:Layer.loss, model.py:Layer.norm, " in result.err


def test_vmap(tapec, model):
    out = tapec("source", "model.py:loss", "--transform", "vmap").out
    space = {}
    exec(out, space)
    import model as user

    stacked = [np.stack([a, 2 * a]) for a in user.loss.example_args]
    out = tapec("source", "model.py:vector", "--transform", "vmap", "--args", "f64[300]").out
    exec(out, space)
    x = np.linspace(0.0, 1.0, 600).reshape(2, 300)
    assert np.array_equal(space["vector_vmap"](x)[0], np.sin(x))
    assert np.allclose(space["loss_vmap"](*stacked)[0][0], user.loss(*user.loss.example_args))
    assert "vmap computes none" in tapec("source", "model.py:loss", "--transform", "vmap", "--wrt", "w").err
    assert "vmap computes no derivative" in tapec("check", "model.py:loss", "--transform", "vmap").err


def test_verdicts_have_colours(tapec, model):
    out = tapec("check", "model.py:loss", "--color", "always").out
    assert "w         \x1b[32mok\x1b[0m  " in out
    plain = tapec("check", "model.py:loss").out
    assert terminal._ESCAPES.sub("", out) == plain


def test_run_says_where_functions_are_from(tapec, model):
    (model.parent / "script.py").write_text(
        "import numpy as np\nimport tapec\nfrom model import loss\n\ntapec.grad(loss)(*loss.example_args)\n"
        "tapec.grad(lambda x: np.sum(x * x))(np.ones(3))\n"
    )
    lines = tapec("run", "script.py").out.splitlines()
    assert lines[1].split() == ["name", "from", "lines", "arguments"]
    assert lines[2].split()[:2] == ["loss_grad", "model.py:6-7"]
    assert lines[3].split()[:2] == ["function_grad", "script.py:6"]
