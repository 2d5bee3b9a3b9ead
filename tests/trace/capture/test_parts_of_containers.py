"""What is read of a captured container is compared, whatever else it holds, and never stale, however it is read."""

import collections
import copy
import functools
import itertools
import json
import operator
import random
import re
import types
import warnings

import numpy as np
import pytest

import tapec
from tapec.trace import tuning

X = np.array([0.3, 0.7, 1.1])

# what reads a part of a list of numbers, of which there are at least four
OF_NUMBERS = {
    "item": lambda a: a[1],
    "last": lambda a: a[-1],
    "last but one": lambda a: a[-2] * a[1],
    "NumPy's index": lambda a: a[np.int64(2)] + a[True],
    "slice": lambda a: sum(a[1:3]),
    "open slice": lambda a: sum(a[2:]),
    "slice from the end": lambda a: sum(a[-2:]),
    "slice to the end": lambda a: sum(a[-3:-1]),
    "slice to before the end": lambda a: sum(a[:-2]),
    "slice with a step": lambda a: sum(a[::2]),
    "reversed slice": lambda a: a[::-1][0],
    "length of a slice": lambda a: len(a[2:6]),
    "too long a slice": lambda a: sum(a[1:1000]) + len(a[500:]),
    "len": lambda a: len(a),
    "bool": lambda a: 2.0 if a else 3.0,
    "first": lambda a: next(iter(a)),
    "broken off": lambda a: next((x for x in a if x > 2), -1.0),
    "any": lambda a: any(x > 2 for x in a),
    "for": lambda a: broken_off(a),
    "sum": lambda a: sum(a),
    "max": lambda a: max(a),
    "sorted": lambda a: sorted(a)[1],
    "in": lambda a: 2 in a,
    "index": lambda a: a.index(2) if 2 in a else -1,
    "count": lambda a: a.count(2),
    "equal": lambda a: a == [1, 2, 3, 4],
    "equal from the right": lambda a: operator.ne([1, 2, 3, 4], a),
    "less": lambda a: a < [2, 0],
    "copy": lambda a: a.copy()[1] + copy.copy(a)[2],
    "unpacking": lambda a: unpacked(a),
    "star": lambda a: functools.reduce(operator.add, [*a]),
    "arguments": lambda a: first_of(*a),
    "islice": lambda a: sum(itertools.islice(a, 1, 3)),
    "zip": lambda a: sum(x * y for x, y in zip(a, (1.0, 2.0))),
    "enumerate": lambda a: sum(k * x for k, x in enumerate(a)),
    "reversed": lambda a: next(reversed(a)),
    "map": lambda a: next(map(lambda v: v * 2, a)),
    "itemgetter": lambda a: operator.itemgetter(0)(a),
    "added": lambda a: ([1.0] + a)[1] + (a + [2.0])[-2],
    "times": lambda a: (a * 2)[-1],
    "tuple": lambda a: tuple(a)[1],
    "array": lambda a: np.array(a)[1],
    "mean": lambda a: np.mean(a),
    "asarray": lambda a: np.asarray(a).sum(),
    "interp": lambda a: np.interp(0.5, [0.0, 1.0], a[:2]),
    "text": lambda a: len(str(a)),
    "json": lambda a: len(json.dumps(a)),
    "past the end": lambda a: item_or(a, 5),
    "before the start": lambda a: item_or(a, -6),
    "copied deeply": lambda a: copy.deepcopy(a)[0],
    "match": lambda a: matched(a),
    "by len": lambda a: a[len(a) - 1] + a[len(a) // 2],
    "isinstance": lambda a: a[0] * 2 if isinstance(a[0], float) else a[0],
    "set": lambda a: len(set(a)) if len(a) > 100 else 0,
    "unbound": lambda a: list.__getitem__(a, 1) + list.__len__(a),
    "chain": lambda a: list(itertools.chain(a, a))[-1],
    "partition": lambda a: [x for x in a][1:][0],
}


def broken_off(a):
    total = 0.0
    for x in a:
        total = total + x
        if total > 3:
            break
    return total


def unpacked(a):
    first, *rest, last = a
    return first * last + len(rest)


def first_of(first, *rest):
    return first + len(rest)


def item_or(a, k):
    try:
        return a[k]
    except IndexError:
        return -1.0


def matched(a):
    match a:
        case [first, second, *_]:
            return first + second
    return 0.0


# what may be done to it between calls
CHANGES = {
    "an item": lambda a, r: a.__setitem__(r.randrange(len(a)), r.choice(NUMBERS)),
    "the last": lambda a, r: a.__setitem__(-1, r.choice(NUMBERS)),
    "longer": lambda a, r: a.append(r.choice(NUMBERS)),
    "shorter": lambda a, r: a.pop() if len(a) > 4 else None,
    "longer in front": lambda a, r: a.insert(0, r.choice(NUMBERS)),
    "shorter in front": lambda a, r: a.pop(0) if len(a) > 4 else None,
    "sorted": lambda a, r: a.sort(),
    "reversed": lambda a, r: a.reverse(),
    "nothing": lambda a, r: None,
    "the same anew": lambda a, r: a.__setitem__(slice(None), list(a)),
}
NUMBERS = [1.0, 2, 2.0, 3, 0.5, -0.0, 0.0, 4, 1]


def kept(read):
    """Return a function that reads a captured list, which it cannot be told from another one."""
    held = types.SimpleNamespace(a=[1, 2.0, 3, 4])

    def f(x):
        return np.sum(x**2) * read(held.a)

    return f, held


def told(x):
    return type(x), np.asarray(x).dtype, repr(np.asarray(x).tolist())


@pytest.mark.parametrize("length", [4, 150])
@pytest.mark.parametrize("name", OF_NUMBERS)
def test_numbers(name, length):
    f, held = kept(OF_NUMBERS[name])
    held.a += [5.0] * (length - 4)
    g = tapec.value_and_grad(f)
    r = random.Random(f"{name} {length}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that it is recorded at each call after some
        for _ in range(25):
            value, gradient = g(X)
            np.testing.assert_allclose(value, f(X), rtol=1e-12)
            np.testing.assert_allclose(gradient, 2 * X * OF_NUMBERS[name](held.a), rtol=1e-12)
            r.choice([*CHANGES.values()])(held.a, r)


OF_TUPLES = {k: v for k, v in OF_NUMBERS.items() if k not in ("equal", "equal from the right", "less", "copy", "added")}
OF_TUPLES |= {
    "equal": lambda a: a == (1, 2, 3, 4),
    "less": lambda a: a < (2, 0),
    "copy": lambda a: copy.copy(a)[2],
    "added": lambda a: ((1.0,) + a)[1] + (a + (2.0,))[-2],
    "unbound": lambda a: tuple.__getitem__(a, 1) + tuple.__len__(a),
    "hash": lambda a: {a: 2.0}.get(a, 3.0) if len(a) > 100 else 0.0,
    "key": lambda a: 2.0 if len(a) > 100 and (1, 2.0, 3, 4) in {a: 1} else 3.0,
    "format": lambda a: len(f"{a[:3]}"),
}


@pytest.mark.parametrize("length", [4, 150])
@pytest.mark.parametrize("name", OF_TUPLES)
def test_tuples_of_numbers(name, length):
    read, held = OF_TUPLES[name], types.SimpleNamespace(a=(1, 2.0, 3, 4) + (5.0,) * (length - 4))
    g = tapec.value_and_grad(lambda x: np.sum(x**2) * read(held.a))
    r = random.Random(f"{name} {length}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(25):
            value, gradient = g(X)
            np.testing.assert_allclose(value, np.sum(X**2) * read(held.a), rtol=1e-12)
            np.testing.assert_allclose(gradient, 2 * X * read(held.a), rtol=1e-12)
            changed = list(held.a)
            r.choice([*CHANGES.values()])(changed, r)
            held.a = tuple(changed)


# -- dicts ------------------------------------------------------------------------------------------------------------
OF_DICTS = {
    "item": lambda d: d["b"],
    "get": lambda d: d.get("b", 7.0),
    "get of none": lambda d: d.get("z", 7.0),
    "in": lambda d: 2.0 if "z" in d else 3.0,
    "not in": lambda d: 2.0 if "z" not in d else d["z"] + 1,
    "or else": lambda d: value_or(d, "z"),
    "len": lambda d: len(d),
    "bool": lambda d: 2.0 if d else 3.0,
    "first key": lambda d: 2.0 if next(iter(d)) == "a" else 3.0,
    "keys": lambda d: len("".join(map(str, d))),
    "sorted keys": lambda d: d[sorted(d, key=str)[1]],
    "keys and items": lambda d: sum(map(d.get, d.keys())),
    "values": lambda d: sum(d.values()),
    "first value": lambda d: next(iter(d.values())),
    "items": lambda d: sum(v for k, v in d.items() if k != "a"),
    "broken off": lambda d: next((v for k, v in d.items() if v > 1), 0.0),
    "equal": lambda d: d == {"a": 1.0, "b": 2, "c": 3.0},
    "merged": lambda d: (d | {"c": 2.0})["c"] + ({"c": 2.0} | d)["c"],
    "copy": lambda d: d.copy()["b"] + dict(d)["b"] + {**d}["b"],
    "keywords": lambda d: by_name(**{k: v for k, v in d.items() if k in ("a", "b")}),
    "all keywords": lambda d: len(by_names(**d)) if all(isinstance(k, str) for k in d) else 0.0,
    "unbound": lambda d: dict.get(d, "b", 3.0),
    "reversed": lambda d: d[next(reversed(d))],
    "format": lambda d: len("{b}".format_map(d)),
    "match": lambda d: of_mapping(d),
    "views": lambda d: len(d.keys() & {"a", "z"}) + operator.contains(d.keys(), "b") + (2 in d.values()),
    "setdefault": lambda d: copy.copy(d).setdefault("b", 3.0),
    "numbers as keys": lambda d: d.get(1, 2.0) + d.get(1.0, 3.0) + d.get(True, 4.0),
    "tuples as keys": lambda d: d.get(("a", 1), 2.0),
}


def value_or(d, key):
    try:
        return d[key]
    except KeyError:
        return 5.0


def by_name(a=1.0, b=2.0):
    return a * b


def by_names(**kwargs):
    return kwargs


def of_mapping(d):
    match d:
        case {"z": z}:
            return z
        case {"a": a}:
            return a
    return 0.0


def set_item(d, key, r):
    d[key] = r.choice(NUMBERS)


CHANGES_OF_DICTS = [
    *[lambda d, r, k=k: set_item(d, k, r) for k in ("a", "b", "c", "z", 1, ("a", 1))],
    *[lambda d, r, k=k: d.pop(k, None) for k in ("c", "z", 1, ("a", 1))],
    lambda d, r: d.update({"a": d.pop("a")}),  # which comes last now
    lambda d, r: None,
    lambda d, r: d.update(dict(d)),
]


@pytest.mark.parametrize("kind", [dict, collections.OrderedDict, lambda d: collections.defaultdict(float, d)])
@pytest.mark.parametrize("length", [3, 150])
@pytest.mark.parametrize("name", OF_DICTS)
def test_dicts(name, length, kind):
    held = types.SimpleNamespace(d=kind({"a": 1.0, "b": 2, "c": 3.0}))
    held.d |= {f"more {k}": 0.25 for k in range(length - 3)}
    read = OF_DICTS[name]
    g = tapec.value_and_grad(lambda x: np.sum(x**2) * read(held.d))
    r = random.Random(f"{name} {length}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(25):
            value, gradient = g(X)
            before = list(held.d)
            expected = read(held.d)
            np.testing.assert_allclose(value, np.sum(X**2) * expected, rtol=1e-12)
            np.testing.assert_allclose(gradient, 2 * X * expected, rtol=1e-12)
            assert list(held.d) == before
            r.choice(CHANGES_OF_DICTS)(held.d, r)


# -- containers of arrays, containers and objects ---------------------------------------------------------------------
class Layer:
    def __init__(self, k):
        self.w, self.b, self.name, self.on = np.full(3, 1.0 + k), float(k), f"layer {k}", k % 2 == 0


def rows(k):
    return {
        "arrays": np.full(3, 1.0 + k),
        "tuples": (np.full(3, 1.0 + k), float(k), k),
        "dicts": {"w": np.full(3, 1.0 + k), "b": float(k), "k": k},
        "objects": Layer(k),
        "lists": [np.full(3, 1.0 + k), [float(k), k]],
        "names": f"row {k}",
    }


OF_ROWS = {
    "arrays": lambda a, x: np.sum(a[1] * x) + np.sum(a[-1] * x),
    "tuples": lambda a, x: np.sum(a[2][0] * x) * a[2][1] + a[-1][2],
    "dicts": lambda a, x: np.sum(a[2]["w"] * x) * a[-1]["b"] + a[0].get("k", 3),
    "objects": lambda a, x: np.sum(a[2].w * x) * a[-2].b if a[1].on else np.sum(a[0].w * x),
    "lists": lambda a, x: np.sum(a[2][0] * x) * a[1][-1][0],
    "names": lambda a, x: np.sum(x) * (2.0 if a[1] == "row 1" else 3.0),
}
THROUGH = {
    "index": lambda a: [a[0], a[1], a[2], a[-2], a[-1]],
    "slices": lambda a: [*a[:3], *a[-2:]],
    "iteration": lambda a: [*a],
    "zip": lambda a: [y for y, _ in zip(a, range(1000))],
    "reversed": lambda a: [*reversed(a)][::-1],
}


@pytest.mark.parametrize("through", THROUGH)
@pytest.mark.parametrize(("kind", "long"), [(list, 100), (tuple, 100), (tuple, 3), (list, 3), (collections.deque, 100)])
@pytest.mark.parametrize("name", OF_ROWS)
def test_rows(name, kind, long, through, monkeypatch):
    monkeypatch.setattr(tuning, "CONTAINER_MAX_CAPTURES", long)
    if kind is collections.deque and through == "slices":
        pytest.skip("deques have no slices")  # Python itself raises an error
    held = types.SimpleNamespace(a=kind([rows(k)[name] for k in range(6)]))
    f = lambda x: OF_ROWS[name](THROUGH[through](held.a), x)
    g = tapec.value_and_grad(f)
    r = random.Random(f"{name} {through}")

    def of_row(row):
        if isinstance(row, np.ndarray):
            row[r.randrange(3)] = r.random()
        elif isinstance(row, dict):
            row["b"], row["k"] = r.random(), r.randrange(9)
            row.pop("extra", None) if r.random() < 0.5 else row.setdefault("extra", 1)
        elif isinstance(row, list):
            row[-1][0] = r.random()
            row.insert(1, None) if len(row) < 4 else row.pop(1)
        elif isinstance(row, tuple):
            row[0][:] = r.random()
        elif isinstance(row, Layer):
            change = r.randrange(3)
            if change == 0:
                row.w = np.full(3, r.random())
            elif change == 1:
                row.w *= r.random()
            else:
                row.b, row.on = r.random(), r.random() < 0.5

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(20):
            value, gradient = g(X)
            np.testing.assert_allclose(value, f(X), rtol=1e-12)
            plain = [f(np.eye(3)[k] * 1.0) - f(np.zeros(3)) for k in range(3)]  # all of them are linear
            np.testing.assert_allclose(gradient, plain, rtol=1e-9, atol=1e-12)
            what = r.choice(["row", "row", "swap", "another", "fewer", "more"])
            k, m = r.randrange(len(held.a)), r.randrange(len(held.a))
            if what == "row":
                of_row(held.a[k])
            else:
                new = list(held.a)
                if what == "swap":
                    new[k], new[m] = new[m], new[k]
                elif what == "another":
                    new[k] = rows(r.randrange(9))[name]
                elif what == "more":
                    new.insert(k, rows(r.randrange(9))[name])
                elif len(new) > 5:
                    del new[k]
                if kind is tuple or r.random() < 0.3:
                    held.a = kind(new)
                else:
                    held.a.clear()
                    held.a.extend(new)


# -- what is not read -------------------------------------------------------------------------------------------------
def compiles_nothing_new(g, changes):
    g(X), g(X)
    for change in changes:
        change()
        with tapec.testing.assert_compiles(g, at_most=0):
            g(X)
    assert "recorded anew" not in str(g.explain(X))


def test_what_is_not_read_may_change():
    a = [1.0, 2.0, 3.0, 4.0]
    layers = [Layer(k) for k in range(4)]
    d = {"w": np.ones(3), "b": 1.0, "other": [1]}
    compiles_nothing_new(
        tapec.grad(lambda x: np.sum(x * layers[1].w) * d["w"][0] + a[1] + sum(a[-1:])),
        [
            lambda: a.insert(2, 7.0),
            lambda: a.append(8.0),
            lambda: a.__setitem__(0, "text"),
            lambda: layers.append(3),
            lambda: layers.pop(0) and layers.insert(0, None),
            lambda: setattr(layers[1], "name", 5),
            lambda: layers[2].w.fill(3.0),
            lambda: d.update(b=3, other=None, third=1),
            lambda: d.pop("b"),
            lambda: d.update(w=d.pop("w")),
        ],
    )


def test_a_log_that_grows():
    log = [{"loss": 1.0}]
    f = lambda x: np.sum(x**2) / len(log) * log[-1]["loss"] if log else np.sum(x)
    g = tapec.grad(f)
    for k in range(20):
        np.testing.assert_allclose(g(X), 2 * X / len(log) * log[-1]["loss"])
        log.append({"loss": 0.5 * k, "step": k})
    assert g.cache_info().misses <= 3


def test_the_length_as_a_number_stays_one():
    log = [1.0]

    def f(x):
        n = len(log)
        assert isinstance(n, int)
        return np.sum(x[: n % 3 + 1]) * n.bit_length() * len(range(n)) + [1.0, 2.0][n % 2] + n // 2 + n**2 % 7

    g = tapec.value_and_grad(f)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(12):
            value, _ = g(X)
            np.testing.assert_allclose(value, f(X))
            log.append(0.0)


def test_a_wrapper_that_keeps_records():
    class Recorder:
        def __init__(self):
            self.records = [{"call": k} for k in range(200)]

        def __call__(self, x):
            self.records.append({"call": len(self.records), "norm": np.sum(x * x)})
            return np.sum(np.sin(x)) * self.records[-1]["norm"]

    recorder = Recorder()
    g = tapec.value_and_grad(recorder)
    for k in range(5):
        value, gradient = g(X + k)
        x = X + k
        np.testing.assert_allclose(value, np.sum(np.sin(x)) * np.sum(x * x))
        np.testing.assert_allclose(gradient, np.cos(x) * np.sum(x * x) + np.sum(np.sin(x)) * 2 * x)
        assert len(recorder.records) == 201 + k and recorder.records[-1]["call"] == 200 + k
        assert type(recorder.records[-1]["norm"]) is np.float64
    assert "changes self.records" in str(g.explain(X))


def test_one_array_by_two_items():
    a = [np.ones(3), np.zeros(3)]
    a.append(a[0])
    f = lambda x: np.sum(x * a[0]) + (np.sum(x) if a[0] is a[2] else 0.0) + (2.0 if a[1] is a[-1] else 0.0)
    g = tapec.value_and_grad(f)
    for change in (lambda: None, lambda: a.__setitem__(2, np.ones(3)), lambda: a.append(a[1]), lambda: a.pop()):
        change()
        np.testing.assert_allclose(g(X)[0], f(X))


def test_a_list_that_holds_itself():
    a = [1.0, 2.0]
    a.append(a)
    g = tapec.grad(lambda x: np.sum(x) * a[2][2][1])
    for value in (2.0, 3.0, 4.0):
        a[1] = value
        np.testing.assert_allclose(g(X), np.full(3, value))


def test_captured_containers_are_results():
    held = {"a": [1.0, np.ones(2)], "b": (2.0, {"c": 3.0})}
    f = lambda x: (x * 2, held, [held["a"][0], held])
    g = tapec.compile(f)
    for value in (1.0, 5.0, 5.0):
        held["a"][0] = value
        assert re.sub(r"np.float64\((.*?)\)", r"\1", repr(g(X))) == repr(f(X))


class Sized(dict):
    def __len__(self):
        return 7

    def __contains__(self, key):
        return key == "mine"

    def __bool__(self):
        return False


def test_a_dict_that_answers_by_itself():
    d = Sized(a=1.0)
    f = lambda x: np.sum(x) * len(d) * (2.0 if "mine" in d else 3.0) * (5.0 if d else d["a"])
    g = tapec.grad(f)
    for value in (1.0, 2.0, 2.0):
        d["a"] = value
        np.testing.assert_allclose(g(X), np.full(3, 14.0 * value))


# -- rows of numbers, of which NumPy makes an array --------------------------------------------------------------------
OF_MANY_ROWS = {
    "array": lambda a, x: np.sum((np.array(a) @ x[:2]) ** 2),
    "asarray": lambda a, x: np.sum(np.asarray(a)[3] * x[:2]),
    "dtype": lambda a, x: np.sum(np.array(a, dtype=np.float32) @ x[:2]),
    "whole numbers": lambda a, x: np.sum(np.array(a, dtype=int) @ x[:2]),
    "written": lambda a, x: written(np.array(a), x),
    "twice": lambda a, x: np.sum(np.array(a) @ x[:2]) * np.sum(np.array(a)[-1]),
    "and an item": lambda a, x: np.sum(np.array(a) @ x[:2]) * a[2][1] + len(a),
    "transposed": lambda a, x: np.sum(np.array(a).T[1] * x[0]),
    "nan": lambda a, x: np.nansum(np.array(a)) * np.sum(x),
    "is finite": lambda a, x: np.sum(np.where(np.isfinite(np.array(a)), np.array(a), 0.0) @ x[:2]),
    "in a nested one": lambda a, x: np.sum(tapec.grad(lambda y: np.sum((np.array(a) @ y[:2]) ** 2))(x)),
}


def written(rows, x):
    rows[0] = x[:2]
    return np.sum(rows @ x[:2])


@pytest.mark.parametrize("anew", [False, True])
@pytest.mark.parametrize("kind", [lambda rows: [*map(tuple, rows)], lambda rows: tuple(map(tuple, rows)), list])
@pytest.mark.parametrize("name", OF_MANY_ROWS)
def test_arrays_of_rows(name, kind, anew):
    read = OF_MANY_ROWS[name]
    has_nan = name in ("nan", "is finite")
    rows = [[float(k), 0.5 * k] for k in range(80)]
    held = types.SimpleNamespace(a=kind(rows))
    g = tapec.value_and_grad(lambda x: read(held.a, x))

    def changed(k, m, value):
        rows[k][m] = value
        held.a = kind(rows)

    changes = [
        lambda: changed(3, 1, 7.0),
        lambda: changed(0, 0, np.nan if has_nan else 1.5),
        lambda: changed(5, 0, 2),
        lambda: rows.append([1.0, 2.0]) or changed(-1, 0, 3.0),
        lambda: changed(1, 1, np.float64(2.5)),
        lambda: rows.__setitem__(slice(None), [[k, 2 * k] for k in range(80)]) or changed(1, 0, 7),
    ]
    for change in [lambda: None, *changes]:
        change()
        if anew:
            a = held.a
            g = tapec.value_and_grad(lambda x: read(a, x))  # noqa: B023  # called before it changes
        expected = read(held.a, X)
        for _ in range(2):
            value, gradient = g(X)
            np.testing.assert_allclose(value, expected, rtol=1e-6)
            ends = [(read(held.a, X + h) - read(held.a, X - h)) / 2e-3 for h in 1e-3 * np.eye(3)]
            np.testing.assert_allclose(gradient, ends, rtol=1e-3, atol=1e-3)


def test_values_in_rows_are_inputs():
    rows = [(float(k), 1.0) for k in range(200)]
    g = tapec.grad(lambda x: np.sum(np.array(rows) @ x))
    for k in range(10):
        rows[k] = (-1.0, 0.5)
        np.testing.assert_allclose(g(np.ones(2)), np.array(rows).sum(0))
    assert g.cache_info().compilations == 1


# -- what the run has changed -----------------------------------------------------------------------------------------
@pytest.mark.parametrize("kind", [list, tuple])
@pytest.mark.parametrize(("rows", "columns"), [(3, 150), (150, 2)])
def test_an_array_of_rows_has_what_the_run_has_put_into_one(rows, columns, kind):
    a = kind([[float(i + k) for i in range(columns)] for k in range(rows)])

    def f(x):
        a[1][0] = np.sum(x**2)
        return np.sum(np.array(a) * 3.0)

    np.testing.assert_allclose(tapec.grad(f)(X), 6 * X)


# -- C code -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("kind", [list, tuple, collections.deque])
def test_two_long_containers_are_added(kind):
    held = types.SimpleNamespace(a=kind([1.0 * k for k in range(150)]), b=kind([k**0.5 for k in range(150)]))
    f = lambda x: x * (held.a + held.b)[154] + sum(held.b + held.a)
    g = tapec.compile(f)
    for _ in range(3):
        np.testing.assert_allclose(g(X), f(X))
        held.b = kind([*held.b][1:])


def test_what_nobody_has_read_is_refused_where_c_code_takes_it():
    a = tuple(range(150))
    with pytest.raises(TypeError, match="past its methods"):
        tapec.compile(lambda x: x * len("%s" * 150 % a))(X)


def test_a_long_deque_is_shown_as_what_it_is():
    a = collections.deque(range(150))
    g = tapec.compile(lambda x: x * len(str(a)))
    np.testing.assert_allclose(g(X), X * len(str(a)))


# -- numbers and strings of the user's own classes --------------------------------------------------------------------
class Metres(float):
    scale = 1.0

    def __repr__(self):
        return f"{float(self):.0f} m"


class Count(int):
    scale = 1.0

    def __repr__(self):
        return "many"


class Name(str):
    scale = 1.0


OF_OWN_CLASSES = {
    "item": lambda a, d, t: 1.0 * a[3],
    "sum": lambda a, d, t: sum(a) + sum(d.values()) + sum(t),
    "attribute": lambda a, d, t: a[3].scale + d[3].scale + t[3].scale,
    "attributes": lambda a, d, t: sum(x.scale for held in (a, d.values(), t) for x in held),
}


@pytest.mark.parametrize("number", [3, 150])
@pytest.mark.parametrize("kind", [Metres, Count, Name])
@pytest.mark.parametrize("read", OF_OWN_CLASSES)
def test_numbers_of_own_classes_are_what_they_are(read, kind, number):
    if kind is Name and read in ("item", "sum"):
        read = "attribute"
    a = [kind(k) for k in range(number + 1)]
    held = types.SimpleNamespace(a=a, d=dict(enumerate(a)), t=tuple(a))
    f = lambda x: np.sum(x * OF_OWN_CLASSES[read](held.a, held.d, held.t))
    g = tapec.value_and_grad(f)
    for k in (1, 2, 3, 4):
        value, gradient = g(X)
        np.testing.assert_allclose(value, f(X))
        np.testing.assert_allclose(gradient, f(X) / np.sum(X))
        if k == 1:
            held.d[3] = kind("21.4" if kind is not Count else 21)
            held.d[number] = kind("1.1" if kind is Metres else 11)
        elif k == 2:
            held.a[3].scale = 7.0
        else:
            held.t = (*held.t[:-1], kind(18))
