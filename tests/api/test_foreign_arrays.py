"""Arrays of other packages (a pandas Series, a torch tensor): NumPy reads them past us, and what they hold counts."""

import contextlib
import sys

import numpy as np
import pytest

import tapec
from tapec.trace import tuning

PACKAGE = '''
import numpy as np

class Column:
    """Elements with labels. What it holds may be changed, or be another array."""

    def __init__(self, data, index=None):
        self._data = np.asarray(data)
        if index is not None:
            self.index = Column(index)

    shape = property(lambda self: self._data.shape)

    def __array__(self, dtype=None, copy=None):
        return self._data[:]

    def __mul__(self, other):
        if getattr(other, "__pandas_priority__", 0) > 3000:
            return NotImplemented
        return Column(self._data * np.asarray(other))

    def to_numpy(self):
        return self._data[:]

    def __setitem__(self, index, value):
        self._data[index] = value

class Table:
    def __init__(self, **columns):
        self._columns = columns

    columns = property(lambda self: list(self._columns))
    shape = property(lambda self: (*self._columns["x"].shape, len(self._columns)))

    def items(self):
        return self._columns.items()

    def __getitem__(self, name):
        return self._columns[name]

    def __setitem__(self, name, value):
        self._columns[name] = value

    def __array__(self, dtype=None, copy=None):
        return np.stack([np.asarray(c) for c in self._columns.values()], axis=1)
'''


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    folder = tmp_path_factory.mktemp("python") / "site-packages"
    folder.mkdir()
    (folder / "columns.py").write_text(PACKAGE)
    sys.path.insert(0, str(folder))
    import columns

    yield columns
    sys.path.remove(str(folder))
    del sys.modules["columns"]


W = np.array([1.0, 2.0])


def line(w, x):
    return np.sum((w[0] * x + w[1]) ** 2)


def truth(x):
    return line(W, np.asarray(x, dtype=float))


@pytest.mark.parametrize(
    "make", [lambda p, x: p.Column(x), lambda p, x: p.Column(x, index="abc"), lambda p, x: [p.Column(x)]]
)
def test_as_arguments_they_are_read_at_each_call(package, make):
    f = tapec.value_and_grad(lambda w, x: line(w, x[0] if isinstance(x, list) else x))
    x = make(package, [1.0, 2.0, 3.0])
    column = x[0] if isinstance(x, list) else x
    assert f(W, x)[0] == truth([1.0, 2.0, 3.0])
    column[0] = 10.0
    assert f(W, x)[0] == truth([10.0, 2.0, 3.0])
    value, gradient = f(W, make(package, [5.0, 6.0, 7.0]))
    assert value == truth([5.0, 6.0, 7.0])
    assert gradient.tolist() == [2 * (5 * 7 + 6 * 8 + 7 * 9), 2 * (7 + 8 + 9)]
    assert f.cache_info().compilations == 1  # what they hold is an input
    assert "is a Column" in f.explain(W, x).recorded_anew


def test_a_gradient_by_one_is_refused_by_name(package):
    with pytest.raises(TypeError, match=r"argument 'x' is a Column, no array of NumPy. Fix: np.asarray\(x\)"):
        tapec.grad(line, argnums=1)(W, package.Column([1.0]))


READ = {
    "itself": lambda t: t["x"],
    "its array": lambda t: t["x"].to_numpy(),
    "part of it": lambda t: t["x"].to_numpy()[:3],
    "before": lambda t: np.sqrt(t["x"].to_numpy()) ** 2,
    "the table": lambda t: np.asarray(t)[:, 0],
}


@pytest.mark.parametrize("read", READ.values(), ids=list(READ))
@pytest.mark.filterwarnings("error")  # nothing to warn of: what they hold is compared
def test_captured_they_are_compared_at_each_call(package, read):
    table = package.Table(x=package.Column([1.0, 2.0, 3.0]), name=package.Column(np.array(["a", None, "c"], object)))
    if read is READ["the table"]:
        table = package.Table(x=package.Column([1.0, 2.0, 3.0]))
    f = tapec.value_and_grad(lambda w: line(w, read(table)))
    assert f(W)[0] == pytest.approx(truth([1.0, 2.0, 3.0]), rel=1e-15)
    f(W)
    assert f.cache_info()[:3] == (1, 1, 1)
    table["x"][0] = 10.0
    assert f(W)[0] == pytest.approx(truth([10.0, 2.0, 3.0]), rel=1e-15)
    table["x"] = package.Column([5.0, 6.0, 7.0])
    assert f(W)[0] == pytest.approx(truth([5.0, 6.0, 7.0]), rel=1e-15)
    table = package.Table(x=package.Column([0.0, 1.0, 1.0, 1.0]))
    assert f(W)[0] == pytest.approx(truth(read(table)), rel=1e-15)


def test_labels_are_part_of_what_one_holds(package):
    column = package.Column([1.0, 2.0], index=[3.0, 4.0])
    f = tapec.grad(lambda w: np.sum(w[0] * column.index))
    assert f(W).tolist() == [7.0, 0.0]
    column.index[0] = 5.0
    assert f(W).tolist() == [9.0, 0.0]


def test_large_ones_are_read_at_each_call(package):
    column = package.Column(np.ones(tuning.COMPARED_MAX_ELEMENTS + 1))
    f = tapec.value_and_grad(lambda w: np.mean(w[0] * column + w[1]))
    assert f(W)[0] == 3.0
    column[:] = 2.0
    assert f(W)[0] == 4.0
    assert f.cache_info().compilations == 1
    assert "too large to be compared" in f.explain(W).recorded_anew


def test_those_that_numpy_cannot_read_are_left_alone(package):
    class_ = type("OnAGpu", (package.Column,), {"__array__": _not_readable, "__module__": "columns"})
    column = class_([1.0, 2.0, 3.0])
    f = tapec.value_and_grad(lambda w: line(w, column.to_numpy()))
    with pytest.warns(tapec.TapecWarning, match="origin cannot be followed"):
        assert f(W)[0] == truth([1.0, 2.0, 3.0])


def _not_readable(self, dtype=None, copy=None):
    raise TypeError("can't convert a device tensor to numpy")


def test_operators_of_tensors_go_before_theirs(package):
    column = package.Column([1.0, 2.0, 3.0])
    assert tapec.value_and_grad(lambda w: np.sum((column * w[0] + w[1]) ** 2))(W)[0] == truth([1.0, 2.0, 3.0])
    with tapec.GradientTape() as tape:
        w = tapec.Variable(W)
        loss = np.sum((column * w[0] + w[1]) ** 2)
    assert tape.gradient(loss, w).numpy().tolist() == [52.0, 24.0]


@pytest.mark.parametrize("base", [object, Exception])
@pytest.mark.parametrize("uses_both", [False, True])
def test_a_view_of_an_array_that_an_object_holds_is_read_anew(package, uses_both, base):
    """Nobody holds the view, but somebody holds what it is a view of. One whose class is from C has no stand-in."""
    class_ = type(
        "Box", (base,), {"__module__": "columns", "part": lambda self: self.hidden[1:], "all": lambda self: self.hidden}
    )
    box = class_()
    box.hidden = np.array([9.0, 1.0, 2.0, 3.0])
    f = tapec.value_and_grad(lambda w: line(w, box.part()) + (np.sum(w[0] * box.all()) if uses_both else 0.0))
    seen = contextlib.nullcontext() if base is object else pytest.warns(tapec.TapecWarning, match="origin cannot")
    with seen:
        before = f(W)[0]
    box.hidden[1:] = 2.0
    assert before == truth([1.0, 2.0, 3.0]) + (15.0 if uses_both else 0.0)
    assert f(W)[0] == truth([2.0, 2.0, 2.0]) + (15.0 if uses_both else 0.0)


def test_views_of_what_a_run_makes_are_constants(package):
    def f(w):
        table = np.arange(6.0)
        return np.sum(w * table.reshape(3, 2)) + np.sum(w[0] * table) + np.sum(table[1:3] * w)

    g = tapec.value_and_grad(f)
    assert g(W)[0] == f(W)
    assert not g.explain(W).captured
