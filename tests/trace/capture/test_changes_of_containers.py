"""What a function does to captured containers, of which little is read, is what plain Python does to them."""

import collections
import copy
import types
import warnings

import numpy as np
import pytest

import tapec

X = np.array([0.3, 0.7, 1.1])


def state():
    return types.SimpleNamespace(
        rows=[1.0, 2, [3.0, {"w": 4.0}], (5.0, [6.0]), "text", None, 7.0],
        many=[0.5 * k for k in range(150)],
        d={"a": 1.0, "b": [2.0, 3.0], 1: 4.0, ("k", 2): {"c": 5.0}},
        o=collections.OrderedDict(a=1.0, b=2.0, c=3.0),
        f=collections.defaultdict(list, {"a": [1.0]}),
        q=collections.deque([1.0, 2.0, 3.0, 4.0], maxlen=6),
        n={"calls": 0},
    )


def iterating(s, x):
    total = 0.0
    for k, row in enumerate(s.many):
        total = total + row
        if k == 3:
            s.many.append(1.0)
        if k == 5:
            break
    return total + s.many[-1]


def work_list(s, x):
    todo, done = s.q, 0.0
    while todo:
        done = done * 0.5 + todo.popleft()
    return done


def nested(s, x):
    s.rows[2][1]["w"] = s.rows[2][1]["w"] + 1.0
    s.d["b"].append(np.sum(x))
    s.d["k", 2]["c"] = s.rows[3][1][0]
    return s.d["b"][-1] + s.d["k", 2]["c"]


def counted(s, x):
    s.n["calls"] += 1
    return s.rows[-1] + len(s.rows)


PROGRAMS = {
    "append": lambda s, x: s.rows.append(np.sum(x)) or s.rows[-1] + len(s.rows),
    "append many": lambda s, x: s.many.append(np.sum(x)) or s.many[-1] + s.many[0] + s.many[-2],
    "extend": lambda s, x: s.rows.extend([1.0, x]) or s.rows[0],
    "insert": lambda s, x: s.rows.insert(1, np.sum(x)) or s.rows[1] + s.rows[0] + s.rows[2],
    "pop": lambda s, x: s.many.pop() + s.many.pop(0) + s.many[1],
    "remove": lambda s, x: s.rows.remove("text") or s.rows[-1],
    "delete": lambda s, x: s.many.__delitem__(0) or s.many[0],
    "delete a slice": lambda s, x: s.many.__delitem__(slice(2, 100)) or s.many[2] + s.many[-1],
    "set": lambda s, x: s.rows.__setitem__(0, np.sum(x)) or s.rows[0] + s.rows[1],
    "set the last": lambda s, x: s.rows.__setitem__(-1, 3.0) or s.rows[-1] + s.rows[0],
    "set a slice": lambda s, x: s.rows.__setitem__(slice(0, 2), [1.0, 2.0, np.sum(x)]) or s.rows[2] + s.rows[-1],
    "set each other": lambda s, x: s.many.__setitem__(slice(0, 10, 2), [1.0] * 5) or s.many[2] + s.many[3],
    "sort": lambda s, x: s.many.sort(key=lambda v: -v) or s.many[0],
    "reverse": lambda s, x: s.many.reverse() or s.many[0] + s.many[-1],
    "clear": lambda s, x: s.rows.clear() or len(s.rows) + 1.0,
    "times": lambda s, x: s.many.__imul__(2)[160],
    "plus": lambda s, x: s.rows.__iadd__([np.sum(x)])[-1],
    "copy": lambda s, x: s.rows.copy().append(1.0) or len(s.rows) + 0.0,
    "swap": lambda s, x: swap(s.rows) + s.rows[0],
    "iterating": iterating,
    "work list": work_list,
    "nested": nested,
    "counted": counted,
    "set in a dict": lambda s, x: s.d.__setitem__("a", np.sum(x)) or s.d["a"] + s.d[1],
    "set a new key": lambda s, x: s.d.__setitem__("z", np.sum(x)) or s.d["z"] + len(s.d) + ("z" in s.d),
    "update": lambda s, x: s.d.update(a=2.0, z=x) or s.d["a"] + len(list(s.d)),
    "pop of a dict": lambda s, x: s.d.pop("a") + s.d.pop("z", 2.0),
    "popitem": lambda s, x: s.o.popitem(last=False)[1] + len(s.o),
    "move to the end": lambda s, x: s.o.move_to_end("a") or list(s.o.values())[-1],
    "setdefault": lambda s, x: s.d.setdefault("z", 3.0) + s.d.setdefault("a", 4.0),
    "delete of a dict": lambda s, x: s.d.__delitem__("a") or len(s.d) + 0.0,
    "clear of a dict": lambda s, x: s.d.clear() or len(s.d) + 1.0,
    "merge": lambda s, x: s.o.__ior__({"z": np.sum(x)})["z"],
    "default": lambda s, x: s.f["new"].append(np.sum(x)) or s.f["new"][0] + s.f["a"][0],
    "default of a new key": lambda s, x: len(s.f["z"]) + 2.0,
    "rotate": lambda s, x: s.q.rotate(1) or s.q[0],
    "append to a queue": lambda s, x: s.q.append(np.sum(x)) or s.q[-1] + s.q[0],
    "append to its left": lambda s, x: s.q.appendleft(np.sum(x)) or s.q[0] + s.q[1],
    "extend its left": lambda s, x: s.q.extendleft([1.0, 2.0, 3.0]) or s.q[0] + len(s.q),
    "read, then change": lambda s, x: s.rows[0] + (s.rows.insert(0, 9.0) or s.rows[1]) + s.rows[0],
    "put one into another": lambda s, x: s.rows.append(s.d) or s.rows[-1]["a"],
    "put into itself": lambda s, x: s.rows.append(s.rows[2]) or s.rows[-1][0],
    "items and back": lambda s, x: s.many.append(s.many.pop(0)) or s.many[-1],
}


def swap(a):
    a[0], a[-1] = a[-1], a[0]
    return a[-1]


def plain(x):
    """Return state as text, with arrays and NumPy's numbers as Python's."""
    if isinstance(x, (np.ndarray, np.generic)):
        return np.round(np.asarray(x, float), 9).tolist()
    if isinstance(x, float):
        return round(x, 9)
    if isinstance(x, dict):
        return [(repr(k), plain(v)) for k, v in x.items()]
    if isinstance(x, (list, tuple, collections.deque)):
        assert type(x) in (list, tuple, collections.deque)
        return [type(x).__name__, *map(plain, x)]
    assert not isinstance(x, tapec.Tensor)
    return x


@pytest.mark.parametrize("nested_one", [False, True])
@pytest.mark.parametrize("name", PROGRAMS)
def test_changes_are_pythons(name, nested_one):
    program = PROGRAMS[name]
    ours, theirs = state(), state()
    f = lambda x: np.sum(x**2) * program(ours, x)
    g = tapec.compile(lambda x: tapec.value_and_grad(f)(x)[0]) if nested_one else tapec.value_and_grad(f)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tapec.TapecWarning)
        for k in range(3):
            x = X + k
            before = copy.deepcopy(theirs)
            try:
                expected = np.sum(x**2) * program(theirs, x)
            except (IndexError, KeyError, ValueError) as error:
                with pytest.raises(type(error)):
                    g(x)
                return
            found = g(x)
            np.testing.assert_allclose(found if nested_one else found[0], expected)
            assert plain(vars(ours)) == plain(vars(theirs))
            if not nested_one:
                h = 1e-6
                ends = [
                    [np.sum(y**2) * program(copy.deepcopy(before), y) for y in (x + h * e, x - h * e)]
                    for e in np.eye(3)
                ]
                np.testing.assert_allclose(found[1], [(a - b) / (2 * h) for a, b in ends], rtol=1e-5)
