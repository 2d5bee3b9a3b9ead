"""What a function puts into captured state is put there by each call; what it keeps reads the user's own state."""

import collections
import enum
import functools
import types

import numpy as np
import pytest

import tapec

X = np.array([0.4, -0.8, 1.2])


class Holder:
    def __init__(self):
        self.calls, self.mode, self.cache, self.made = 0, "", None, []

    @functools.cached_property
    def table(self):
        return np.full(3, 2.0)


def appended(x, held):
    held.append(np.sum(x))
    return np.sum(x**2)


def appended_constant(x, held):
    held.append("called")
    return np.sum(x**2)


def appended_in_a_helper(x, held):
    appended(x, held)
    return np.sum(x**2)


def extended(x, held):
    held += [x[0], x[1]]
    return np.sum(x**2)


def appended_while_an_array_is_filled(x, held):
    y = np.zeros(3)
    for i in range(3):
        y[i] = x[i] ** 2
        held.append(y[i])
    return np.sum(y)


def appended_where_values_say_so(x, held):
    if x[0] > 0:
        held.append(1)
    return np.sum(x**2)


@pytest.mark.parametrize("kind", [list, collections.deque])
@pytest.mark.parametrize(
    "f",
    [appended, appended_constant, appended_in_a_helper, extended, appended_while_an_array_is_filled],
    ids=lambda f: f.__name__,
)
def test_each_call_appends(f, kind):
    held, expected = kind(), kind()
    gradient = tapec.grad(lambda x: f(x, held))
    for k in range(1, 5):
        np.testing.assert_allclose(gradient(k * X), 2 * k * X)
        f(k * X, expected)
        assert [type(v) for v in held] == [type(v) for v in expected]
        if not isinstance(expected[0], str):
            np.testing.assert_allclose(held, expected)
    assert len(held) == len(expected)
    assert gradient.explain(X).recorded_anew is not None


class Rows(list):
    def __len__(self):
        return 100


class Queue(collections.deque):
    pass


class Pair(tuple):
    pass


class Table(dict):
    def __getitem__(self, key):
        return super().__getitem__(key)


class Model:
    log = []


class Kind(enum.Enum):
    A = 1


Kind.A.log = []
ROWS, QUEUE, IN_LIST, IN_ROWS, IN_PAIR, TABLE = Rows(), Queue(), [Rows()], Rows([[]]), Pair([[]]), Table(log=[])
HANDED_OUT = {
    "list of one's own class": lambda: ROWS,
    "deque of one's own class": lambda: QUEUE,
    "in a list": lambda: IN_LIST[0],
    "list in a list of one's own class": lambda: IN_ROWS[0],
    "list in a tuple of one's own class": lambda: IN_PAIR[0],
    "list in a dict that answers itself": lambda: TABLE["log"],
    "list of a class": lambda: Model.log,
    "list of a class, by an object": lambda: Model().log,
    "list of a member of an Enum": lambda: Kind.A.log,
}


@pytest.mark.parametrize("function", [tapec.compile, tapec.grad])
@pytest.mark.parametrize("case", HANDED_OUT)
def test_what_is_handed_out_as_it_is_keeps_plain_values(case, function):
    find = HANDED_OUT[case]

    def f(x):
        find().append(np.sum(x))
        find().append([2.0 * np.sum(x)])
        return np.sum(x**2)

    find().clear()
    g = function(f)
    for k in (1.0, 2.0, 2.0, 3.0):
        g(k * X)
    sums = [np.sum(k * X) for k in (1.0, 2.0, 2.0, 3.0)]
    assert [*find()] == [x for total in sums for x in (total, [2.0 * total])]
    assert {type(x) for x in find()} == {np.float64, list} and {type(x[0]) for x in [*find()][1::2]} == {np.float64}


def test_a_path_that_appends_beside_one_that_does_not():
    held = []
    f = tapec.grad(lambda x: appended_where_values_say_so(x, held))
    for sign in (1, -1, 1, -1, 1, -1):
        f(sign * X)
    assert held == [1, 1, 1] and f.cache_info().compilations >= 1


STORES = {
    "dict": (lambda d: d.__setitem__("n", 3), dict, lambda d: d.clear()),
    "setdefault": (lambda d: d.setdefault("n", 3), dict, lambda d: d.clear()),
    "update": (lambda d: d.update(n=3), dict, lambda d: d.clear()),
    "defaultdict": (lambda d: d["n"], lambda: collections.defaultdict(list), lambda d: d.clear()),
    "list": (lambda d: d.append("x"), list, lambda d: d.clear()),
    "attribute": (lambda d: setattr(d, "mode", "x"), Holder, lambda d: setattr(d, "mode", "")),
    "namespace": (lambda d: setattr(d, "mode", "x"), types.SimpleNamespace, lambda d: delattr(d, "mode")),
    "list of an object": (lambda d: d.made.append(1), Holder, lambda d: d.made.clear()),
    "set": (lambda d: d.add(3), set, lambda d: d.clear()),
}


def shown(x):
    return repr(vars(x) if hasattr(x, "__dict__") else x)


@pytest.mark.parametrize("case", STORES)
def test_each_call_stores(case):
    store, make, clear = STORES[case]
    state, expected = make(), make()
    f = tapec.compile(lambda x: (store(state), x * 2)[1])
    store(expected)
    for _ in range(3):
        f(1.0)
        assert shown(state) == shown(expected)
        clear(state)


def test_what_is_stored_once_is_read_from_then_on():
    holder = Holder()

    def f(x):
        if holder.cache is None:
            holder.cache = np.ones(3)
        return np.sum(x * holder.cache * holder.table)

    compiled = tapec.grad(f)
    for _ in range(3):
        np.testing.assert_array_equal(compiled(X), [2.0, 2.0, 2.0])
    assert compiled.explain(X).recorded_anew is None
    holder.table = np.full(3, 5.0)
    np.testing.assert_array_equal(compiled(X), [5.0, 5.0, 5.0])
    holder.cache = None
    np.testing.assert_array_equal(compiled(X), [5.0, 5.0, 5.0])
    assert holder.cache is not None


def test_a_counter_is_no_reason():
    holder = Holder()

    def f(x):
        holder.calls += 1
        return x * 2

    compiled = tapec.compile(f)
    for _ in range(4):
        compiled(1.0)
    assert holder.calls == 4 and compiled.explain(1.0).recorded_anew is None


def test_a_counter_and_a_list():
    holder = Holder()

    def f(x):
        holder.calls += 1
        holder.made.append(holder)
        return x * 2

    compiled = tapec.compile(f)
    for _ in range(4):
        compiled(1.0)
    assert holder.calls == len(holder.made) == 4 and all(h is holder for h in holder.made)


# -- code that is not followed ----------------------------------------------------------------------------------------
NODES, BY_NAME, STACK = [], {}, []


class Value:
    def __init__(self, data, parents=()):
        self.data, self.parents, self.grad = data, parents, 0.0
        NODES.append(self)
        BY_NAME[len(BY_NAME)] = self


class Scope:
    def __init__(self, scale):
        self.scale = scale

    def __enter__(self):
        STACK.append(self.scale)

    def __exit__(self, *exc):
        STACK.pop()


def backward(nodes):
    for node in nodes:
        for parent, slope in node.parents:
            parent.grad = parent.grad + slope * node.grad


def chain(x):
    NODES.clear()
    BY_NAME.clear()
    a = Value(x)
    b = Value(a.data * a.data, [(a, 2 * a.data)])
    b.grad = 1.0
    return a


def by_reversed(x):
    a = chain(x)
    backward(reversed(NODES))
    return np.sum(a.grad)


def by_index(x):
    a = chain(x)
    backward([NODES[k] for k in range(len(NODES) - 1, -1, -1)])
    return np.sum(a.grad)


def by_slice(x):
    a = chain(x)
    backward(NODES[::-1])
    return np.sum(a.grad)


def by_last(x):
    a = chain(x)
    backward([NODES[-1]])
    return np.sum(a.grad) * len(NODES)


def by_name(x):
    a = chain(x)
    backward([BY_NAME[1]] if 1 in BY_NAME else [])
    return np.sum(a.grad) * len(BY_NAME)


def by_items(x):
    a = chain(x)
    backward([node for _, node in BY_NAME.items()])
    return np.sum(a.grad) * len([*BY_NAME.keys()])


def by_scope(x):
    with Scope(3.0):
        scale = STACK[-1] if STACK else 1.0
    return np.sum(scale * x**2)


@pytest.mark.parametrize(
    "f", [by_reversed, by_index, by_slice, by_last, by_name, by_items, by_scope], ids=lambda f: f.__name__
)
def test_a_constructor_that_writes_to_what_the_function_reads(f):
    compiled = tapec.value_and_grad(f)
    for k in (1.0, 2.0, -1.0):
        value, gradient = compiled(k * X)
        np.testing.assert_allclose(value, f(k * X))
        steps = 1e-6 * np.eye(3)
        differences = [(f(k * X + step) - f(k * X - step)) / 2e-6 for step in steps]
        np.testing.assert_allclose(gradient, differences, atol=1e-6)


COUNT, TOTAL = 0, 0.0


class Counted:
    def __init__(self, by):
        global COUNT, TOTAL
        COUNT, TOTAL = COUNT + 1, TOTAL + by


def by_globals(x):
    Counted(2.0)
    first = COUNT
    Counted(3.0)
    return np.sum(x**2) * TOTAL * (COUNT - first)


def test_a_constructor_that_sets_globals():
    global COUNT, TOTAL
    compiled = tapec.value_and_grad(by_globals)
    for k in (1.0, 2.0, -1.0):
        COUNT, TOTAL = 0, k
        found = compiled(k * X)[0]
        assert COUNT == 2 and k + 5.0 == TOTAL
        COUNT, TOTAL = 0, k
        np.testing.assert_allclose(found, by_globals(k * X))


def test_a_constructor_that_sets_a_variable_of_an_enclosing_function():
    total = 0.0

    class Node:
        def __init__(self, by):
            nonlocal total
            total = total + by

    def f(x):
        Node(2.0)
        return x * total

    with pytest.raises(tapec.UnsupportedError, match=r"total, a variable of an enclosing function.*Fix: keep it in a"):
        tapec.grad(f)(1.0)


# -- functions that are kept ------------------------------------------------------------------------------------------
SCALE, KEPT = 2.0, {}


class Register:
    made = []

    def __init__(self, f):
        Register.made.append(f)


def keeps(x):
    w = np.sum(x)

    def callback(v, by=SCALE):
        return SCALE * v + 0.0 * w + by

    KEPT["itself"] = callback
    KEPT["in a list"] = [callback]
    KEPT["in a dict"] = {"f": callback}
    KEPT["partial"] = functools.partial(callback, 1.0)
    KEPT["lambda"] = lambda v: SCALE * v + SCALE
    keeps.attribute = callback
    Register(lambda v: SCALE * v + SCALE)
    return np.sum(x) * callback(1.0)


def test_functions_that_are_kept_see_plain_values():
    global SCALE
    compiled = tapec.grad(keeps)
    for scale in (2.0, 3.0):
        SCALE = scale
        np.testing.assert_allclose(compiled(X), np.full(3, 2 * SCALE))
        found = [KEPT["itself"](1.0), KEPT["in a list"][0](1.0), KEPT["in a dict"]["f"](1.0), KEPT["partial"]()]
        found += [KEPT["lambda"](1.0), keeps.attribute(1.0), Register.made[-1](1.0)]
        assert all(isinstance(v, (float, np.floating)) for v in found), found
        assert found == [2 * SCALE] * 7
    SCALE = 10.0
    assert KEPT["lambda"](1.0) == Register.made[-1](1.0) == 20.0
    assert KEPT["itself"](1.0) == 13.0


def test_a_kept_function_shares_variables_with_the_function_around():
    kept, total = {}, 0.0

    def f(x):
        nonlocal total
        total = total + 1.0
        kept["total"] = lambda: total
        return x * total

    compiled = tapec.compile(f)
    assert [compiled(1.0) for _ in range(3)] == [1.0, 2.0, 3.0]
    assert kept["total"]() == 3.0
    f(1.0)
    assert kept["total"]() == total == 4.0
