"""Objects that a function makes and stores hold plain values afterwards, wherever they are stored."""

import collections
import contextvars
import dataclasses
import queue
import threading
import types
import typing
import weakref

import numpy as np
import pytest

import tapec

X = np.array([1.0, 2.0])


@dataclasses.dataclass
class Record:
    step: int
    w: np.ndarray
    parts: list


class Pair(typing.NamedTuple):
    w: np.ndarray
    rest: object


class Node:
    __slots__ = ("next", "value")

    def __init__(self, value, next_one):
        self.value, self.next = value, next_one


class Items(list):
    pass


class Plain:
    def __init__(self, w):
        self.w = w
        self.me = self


MAKERS = {
    "a dataclass": lambda x: Record(1, x * 2.0, [np.sum(x), {"a": x[0]}]),
    "a named tuple": lambda x: Pair(x * 2.0, [np.sum(x)]),
    "a named tuple in one": lambda x: Pair(x * 2.0, Pair(np.sum(x), Record(1, x[1], []))),
    "with slots": lambda x: Node(np.sum(x), Node(x * 3.0, None)),
    "a namespace": lambda x: types.SimpleNamespace(w=x * 2.0),
    "a deque": lambda x: collections.deque([x * 2.0, np.sum(x)], maxlen=5),
    "a default dict": lambda x: collections.defaultdict(list, {"a": [np.sum(x)], "b": x * 2.0}),
    "an ordered dict": lambda x: collections.OrderedDict(a=np.sum(x)),
    "a list of a class": lambda x: Items([np.sum(x), x * 2.0]),
    "one that holds itself": lambda x: Plain(x * 2.0),
    "in a list": lambda x: [Plain(np.sum(x)), (Plain(x * 3.0),)],
}


def tensors_in(x, known=None):
    """Go through all that an object holds, and count the tensors."""
    known = {} if known is None else known
    if isinstance(x, tapec.Tensor):
        return 1
    if id(x) in known or isinstance(x, (float, int, str, np.generic, type(None))):
        return 0
    known[id(x)] = x
    if isinstance(x, np.ndarray):
        return sum(tensors_in(v, known) for v in x.ravel()) if x.dtype == object else 0
    if isinstance(x, dict):
        return sum(tensors_in(v, known) for v in x.values())
    held = [*x] if isinstance(x, (list, tuple, collections.deque, set)) else []
    held += [getattr(x, n) for n in (*getattr(x, "__dict__", ()), *getattr(type(x), "__slots__", ())) if hasattr(x, n)]
    return sum(tensors_in(v, known) for v in held)


def told(x, known=()):
    """Return what an object holds as lists and names."""
    if id(x) in known:
        return "again"
    known = (*known, id(x))
    if isinstance(x, np.ndarray):
        return x.tolist()
    if isinstance(x, dict):
        return {k: told(v, known) for k, v in x.items()}
    if isinstance(x, (list, tuple, collections.deque)):
        return [type(x).__name__, *[told(v, known) for v in x]]
    names = (*getattr(x, "__dict__", ()), *getattr(type(x), "__slots__", ()))
    if names:
        return type(x).__name__, {n: told(getattr(x, n), known) for n in names}
    return float(x) if isinstance(x, (np.generic, tapec.Tensor)) else x


class Keeper:
    last = None


PLACES = {
    "a list": (list, lambda kept, item: kept.append(item)),
    "a dict": (dict, lambda kept, item: kept.update({len(kept): item})),
    "a deque": (collections.deque, lambda kept, item: kept.appendleft(item)),
    "an attribute": (Keeper, lambda kept, item: setattr(kept, "last", item)),
    "an attribute past all": (Keeper, lambda kept, item: object.__setattr__(kept, "last", item)),
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("made", MAKERS)
def test_what_is_stored_is_plain_afterwards(made, place):
    kind, store = PLACES[place]
    make = MAKERS[made]

    def function(kept):
        def f(x):
            store(kept, make(x))
            return np.sum(x**2)

        return f

    kept, ours = kind(), kind()
    f, g = function(kept), tapec.value_and_grad(function(ours))
    for k in (1.0, 2.0, 3.0):
        value, slope = g(X * k)
        assert value == f(X * k)
        np.testing.assert_allclose(slope, 2.0 * X * k)
        assert tensors_in(ours) == 0
        assert told(ours) == told(kept)


def test_values_keep_their_gradient_until_the_run_is_over():
    log = []

    def f(x):
        log.append(Record(0, x * 2.0, []))
        log.append(Pair(x * 3.0, None))
        log[-2].parts.append(np.sum(x))
        return np.sum(log[-1].w * log[-2].w) + log[-2].parts[0]

    for _ in range(2):
        np.testing.assert_allclose(tapec.grad(f)(X), 12.0 * X + 1.0)
    assert tensors_in(log) == 0 and len(log) == 4


# -- what has no stand-in ---------------------------------------------------------------------------------------------
variable = contextvars.ContextVar("variable", default=0.0)
waiting, by_rank, own, table = queue.Queue(), queue.PriorityQueue(), threading.local(), np.array([0.0, None], object)
model = Keeper()
weak = weakref.WeakKeyDictionary()


def in_a_queue(x):
    waiting.put(np.sum(x * x))
    return np.sum(x)


def in_a_queue_by_rank(x):
    by_rank.put((float(by_rank.qsize()), np.sum(x * x)))
    return np.sum(x)


def in_a_local(x):
    own.last = [np.sum(x * x), Plain(x)]
    return np.sum(x)


def in_an_array_of_objects(x):
    table[1] = np.sum(x * x)
    return np.sum(x) + table[1]


def in_a_context(x):
    variable.set(0.5 * variable.get() + np.sum(x * x))
    return 2.0 * variable.get()


def an_array_in_a_context(x):
    variable.set(x * 2.0)
    return np.sum(x * variable.get())


def by_a_weak_key(x):
    weak[model] = weak.get(model, 1.0) * np.sum(x)
    return weak[model]


def held_now():
    return [list(waiting.queue), by_rank.queue, vars(own), table, variable.get(), list(weak.values())]


@pytest.mark.parametrize(
    "f",
    [
        in_a_queue,
        in_a_queue_by_rank,
        in_a_local,
        in_an_array_of_objects,
        in_a_context,
        an_array_in_a_context,
        by_a_weak_key,
    ],
    ids=lambda f: f.__name__,
)
def test_what_has_no_stand_in_holds_plain_values(f):
    def begin():
        variable.set(0.0)
        waiting.queue.clear()
        by_rank.queue.clear()
        vars(own).clear()
        weak.clear()
        table[:] = 0.0

    begin()
    expected = [float(f(X * k)) for k in (1.0, 2.0, 3.0)]
    left = told(held_now())
    for transform in (tapec.compile, tapec.value_and_grad):
        begin()
        g = transform(f)
        found = [g(X * k) for k in (1.0, 2.0, 3.0)]
        np.testing.assert_allclose([x[0] if isinstance(x, tuple) else x for x in found], expected)
        assert tensors_in(held_now()) == 0
        assert told(held_now()) == left
    begin()


# -- members ----------------------------------------------------------------------------------------------------------
def a_member(kept, x):
    kept.add(model)
    return len(kept) * np.sum(x)


def a_weak_value(kept, x):
    kept["model"] = model
    return len(kept) * np.sum(x)


@pytest.mark.parametrize(
    ("kind", "f"), [(set, a_member), (weakref.WeakSet, a_member), (weakref.WeakValueDictionary, a_weak_value)]
)
def test_members_are_the_objects_themselves(kind, f):
    kept = kind()
    g = tapec.value_and_grad(lambda x: f(kept, x))
    for _ in range(3):
        value, slope = g(X)
        assert value == 3.0 and slope.tolist() == [1.0, 1.0]
        [found] = kept.values() if kind is weakref.WeakValueDictionary else kept
        assert found is model
