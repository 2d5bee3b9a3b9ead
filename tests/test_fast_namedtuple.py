"""Named tuples do what typing's do."""

from __future__ import annotations

import copy
import inspect
import pickle
import typing

import pytest

from tapec.fast_namedtuple import NamedTuple


class Ours(NamedTuple):
    """A point, and what is said of it."""

    x: float
    y: float | None
    note: str = ""

    @property
    def twice(self) -> Ours:
        return self._replace(x=2 * self.x)


class Theirs(typing.NamedTuple):
    """A point, and what is said of it."""

    x: float
    y: float | None
    note: str = ""

    @property
    def twice(self) -> Theirs:
        return self._replace(x=2 * self.x)


BOTH = pytest.mark.parametrize("kind", [Ours, Theirs])


@BOTH
def test_they_are_tuples_with_names(kind):
    point = kind(1.0, y=2.0)
    assert point == (1.0, 2.0, "") and hash(point) == hash((1.0, 2.0, "")) and (point.x, point.y) == point[:2]
    assert repr(point) == f"{kind.__name__}(x=1.0, y=2.0, note='')"
    assert point.twice == (2.0, 2.0, "") and type(point.twice) is kind
    assert point._asdict() == {"x": 1.0, "y": 2.0, "note": ""}
    assert kind._make([3.0, None, "far"]) == (3.0, None, "far")
    match point:
        case kind(x, y, note):
            assert (x, y, note) == point


@BOTH
def test_their_classes_tell_what_they_hold(kind):
    assert kind._fields == ("x", "y", "note") and kind._field_defaults == {"note": ""}
    assert kind.__doc__ == "A point, and what is said of it." and type(kind) is type
    assert list(inspect.signature(kind).parameters) == ["x", "y", "note"]


@BOTH
def test_they_hold_nothing_else(kind):
    point = kind(1.0, 2.0)
    for change in (lambda: setattr(point, "x", 3.0), lambda: setattr(point, "z", 3.0)):
        with pytest.raises(AttributeError):
            change()
    with pytest.raises((TypeError, ValueError), match="z"):
        point._replace(z=3.0)


@BOTH
def test_errors_name_the_class(kind):
    with pytest.raises(TypeError, match=rf"{kind.__name__}.__new__\(\) missing 1 required positional argument: 'y'"):
        kind(1.0)


@BOTH
def test_they_are_copied_and_pickled(kind):
    point = kind(1.0, None, "here")
    for other in (copy.copy(point), copy.deepcopy(point), pickle.loads(pickle.dumps(point))):
        assert other == point and type(other) is kind
