"""What a traced function sets around it, and code reads that is not followed: right, or refused, never stale."""

import collections
import contextlib
import copy
import dataclasses
import enum
import functools
import importlib
import sys
import types
from typing import NamedTuple

import numpy as np
import pytest

import tapec
from tapec.errors import UnsupportedError

G, MODE, K = 1.0, "off", 1.0
TABLE, LIST = {"M": 1.0}, [1.0]


class Settings:
    M = 1.0


class Body:
    def __init__(self):
        self.mass = G

    @property
    def weight(self):
        return TABLE["M"]

    @staticmethod
    def unit():
        return G

    @classmethod
    def of_class(cls):
        return cls().mass


class Sub(Body):
    def __init__(self):
        super().__init__()
        self.last = LIST[-1]


class New:
    def __new__(cls):
        self = super().__new__(cls)
        self.mass = TABLE["M"]
        return self


@dataclasses.dataclass
class Data:
    mass: float = dataclasses.field(default_factory=lambda: TABLE["M"])


@dataclasses.dataclass
class Filled:
    mass: float = 0.0

    def __post_init__(self):
        self.mass = TABLE["M"]


class Arrays:
    def __init__(self):
        self.a = np.zeros(2)
        self.a[1] = G


class Switch:
    def __init__(self):
        if MODE == "off":
            raise ValueError("it is off")
        self.k = 1.0


class Pair(NamedTuple):
    a: float

    def scaled(self):
        return G * self.a


class Setter:
    def __init__(self):
        self.value = 0.0

    @property
    def rate(self):
        return self.value

    @rate.setter
    def rate(self, new):
        self.value = new * G


class Hears:
    def __setattr__(self, name, value):
        object.__setattr__(self, name, value * G)


class Descriptor:
    def __get__(self, owner, kind=None):
        return G


class Described:
    rate = Descriptor()


class OfFunction:
    def __init__(self):
        self.m = helper.scale


def helper(q):
    return q


def made(kind=Body):
    return kind().mass


settings, pair, setter, hears, body = Settings(), Pair(1.0), Setter(), Hears(), Body()
holder = types.SimpleNamespace(kind=Body)
factory = collections.defaultdict(lambda: G)


@pytest.fixture(autouse=True)
def as_before():
    reset()


def reset():
    global G, MODE, K
    G, MODE, K = 1.0, "off", 1.0
    TABLE.clear()
    TABLE["M"] = 1.0
    LIST[:] = [1.0]
    helper.scale = 1.0
    vars(settings).clear()


def check(f, cases=((2.0, 3.0), (4.0, 5.0), (4.0, 6.0)), h=1e-5):
    """Compare values, derivatives and what is left with plain NumPy's, at calls one after the other."""
    transforms = tapec.compile(f), tapec.value_and_grad(f, argnums=(0, 1))
    for m, q in cases:
        around = []
        for step in ((h, 0.0), (-h, 0.0), (0.0, h), (0.0, -h)):
            reset()
            around.append(f(m + step[0], q + step[1]))
        reset()
        value = f(m, q)
        left = G, MODE, [*TABLE.items()], LIST[:], helper.scale, settings.M
        slopes = (around[0] - around[1]) / (2 * h), (around[2] - around[3]) / (2 * h)
        for transform in transforms:
            reset()
            got = transform(m, q)
            got, gradient = got if type(got) is tuple else (got, slopes)
            np.testing.assert_allclose(got, value)
            np.testing.assert_allclose(gradient, slopes, rtol=1e-6)
            assert (G, MODE, [*TABLE.items()], LIST[:], helper.scale, settings.M) == left
            assert not any(isinstance(x, tapec.Tensor) for x in (G, *TABLE.values(), *LIST, helper.scale))


def with_global(read):
    def f(m, q):
        global G
        G = m
        return read(q) * q

    return f


def with_item(read):
    def f(m, q):
        TABLE["M"] = m
        return read(q) * q

    return f


READ_GLOBALS = {
    "a constructor": lambda q: Body().mass,
    "a method": lambda q: Body().unit(),
    "a static method": lambda q: Body.unit(),
    "a class method": lambda q: Body.of_class(),
    "a subclass": lambda q: Sub().mass,
    "by map": lambda q: sum(map(Body.unit, ())) + sum([b.mass for b in [Body(), Body()]]),
    "a partial function": lambda q: functools.partial(Body)().mass,
    "a default": lambda q: made(),
    "an attribute": lambda q: holder.kind().mass,
    "the class of an object": lambda q: type(body)().mass,
    "a copy": lambda q: copy.copy(body).unit(),
    "a named tuple": lambda q: pair.scaled(),
    "an array": lambda q: Arrays().a[1],
    "a setter": lambda q: setattr(setter, "rate", q) or setter.rate,
    "a class that hears of attributes": lambda q: setattr(hears, "rate", q) or hears.rate * 1.0,
    "a descriptor": lambda q: Described().rate,
    "a default of a dict": lambda q: factory.clear() or factory["n"],
}
READ_ITEMS = {
    "a property": lambda q: Body().weight,
    "__new__": lambda q: New().mass,
    "a default factory": lambda q: Data().mass,
    "__post_init__": lambda q: Filled().mass,
}


@pytest.mark.parametrize("name", READ_GLOBALS)
def test_globals(name):
    check(with_global(READ_GLOBALS[name]))


@pytest.mark.parametrize("name", READ_ITEMS)
def test_items(name):
    check(with_item(READ_ITEMS[name]))


def test_other_ways_to_set():
    def updates(m, q):
        TABLE.update(M=m)
        return Data().mass * q

    def appends(m, q):
        LIST.append(m)
        return Sub().last * q * len(LIST)

    def adds(m, q):
        global G
        G = G + m
        return Body().mass * q

    def of_a_function(m, q):
        helper.scale = m
        return OfFunction().m * q

    def of_an_object(m, q):
        global G
        settings.M = m
        G = settings.M * 2.0
        return Body().mass * q

    for f in (updates, appends, adds, of_a_function, of_an_object):
        check(f)


def test_variables_of_an_enclosing_function():
    g = 1.0

    class Inner:
        def __init__(self):
            self.m = g

    def f(m, q):
        nonlocal g
        g = m
        return Inner().m * q

    check(f)


def test_what_is_set_decides_which_code_runs():
    def f(m, q):
        global MODE
        MODE = "on"
        return Switch().k * m * q

    check(f)


def test_an_error_of_the_function_is_its_own():
    def f(m):
        global G
        G = m
        raise ZeroDivisionError(f"{Body().mass is None}")

    with pytest.raises(ZeroDivisionError, match="False"):
        tapec.grad(f)(2.0)


class Phase(enum.Enum):
    WATER = 1
    ICE = 2

    @property
    def density(self):
        return TABLE["M"]

    def scale(self):
        return G

    def by_text(self):
        return globals()["G"]

    def by_name(self):
        return vars(sys.modules[__name__])["G"]

    def by_import(self):
        import config_of_these_tests

        return config_of_these_tests.M

    def by_modules(self):
        return sys.modules["config_of_these_tests"].M


class Stack(list):
    def scaled(self):
        return G * self[0]


class Map(dict):
    def scaled(self):
        return G * self["a"]


class Meters(float):
    def scaled(self):
        return G * self


class Failure(Exception):
    def __init__(self):
        self.mass = G


class Registered:
    def __init_subclass__(cls):
        pass

    def __init__(self):
        self.mass = G


class Finds:
    def __getattribute__(self, name):
        return G if name == "g" else object.__getattribute__(self, name)


@functools.singledispatch
def dispatched(q):
    return G * q


@functools.lru_cache
def cached(k):
    return G * k


class Wrapped:
    @contextlib.contextmanager
    def within(self):
        yield G

    @functools.singledispatchmethod
    def dispatched(self, q):
        return G * q

    def scaled(self):
        return G

    @staticmethod
    @functools.lru_cache
    def once(k):
        return G * k


def within(x):
    with x.within() as found:
        return found


stack, mapping, meters, finds, wrapped = Stack([1.0]), Map(a=1.0), Meters(1.0), Finds(), Wrapped()
of_python = np.frompyfunc(lambda x: G * x, 1, 1)
objects = np.array([wrapped, wrapped])
members = {wrapped}
REFUSED = {
    "a member of an Enum": lambda q: Phase.WATER.scale(),
    "a text in one": lambda q: Phase.WATER.by_text(),
    "a name in one": lambda q: Phase.WATER.by_name(),
    "a list of one's own": lambda q: stack.scaled(),
    "a dict of one's own": lambda q: mapping.scaled(),
    "a number of one's own": lambda q: meters.scaled(),
    "an exception": lambda q: Failure().mass,
    "a class that hears of subclasses": lambda q: Registered().mass,
    "a class that hears of readings": lambda q: finds.g,
    "singledispatch": lambda q: dispatched(q),
    "a method that is dispatched": lambda q: wrapped.dispatched(q),
    "a cached static method": lambda q: Wrapped.once.cache_clear() or Wrapped.once(2.0),
    "a context manager": lambda q: within(wrapped),
    "a ufunc of Python's": lambda q: of_python(2.0),
    "an array of objects": lambda q: objects[0].scaled(),
    "a set of objects": lambda q: next(iter(members)).scaled(),
    "a cached function": lambda q: cached.cache_clear() or cached(1),
    "a text": lambda q: eval("G"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_would_be_stale_is_refused(name):
    for transform in (tapec.compile, tapec.grad):
        for _ in range(2):
            with pytest.raises(UnsupportedError, match="the function sets G, .* Fix: pass it as an argument"):
                transform(with_global(REFUSED[name]))(2.0, 3.0)
    assert with_global(REFUSED[name])(2.0, 3.0) > 0.0


def test_a_table_that_a_member_of_an_enum_reads():
    with pytest.raises(UnsupportedError, match="the function sets TABLE"):
        tapec.grad(with_item(lambda q: Phase.WATER.density))(2.0, 3.0)


def test_what_nobody_reads_is_set():
    def uses_a_member(m, q):
        global G
        G = m
        return G * (q if Phase.WATER is not Phase.ICE else 0.0)

    def sets_the_same(m, q):
        global K
        K = 1.0
        return m * q * reads_k()

    def sets_plain_items(m, q):
        TABLE["n"] = 3
        return m * q * Data().mass

    def appends_beside(m, q):
        LIST.append(m)
        return LIST[1] * q * OfItem().m

    def sets_another_item(m, q):
        TABLE["other"] = m
        return TABLE["other"] * q * OfItem().n

    for f in (uses_a_member, sets_the_same, sets_plain_items, appends_beside, sets_another_item):
        check(f)


class OfItem(Exception):
    def __init__(self):
        self.m, self.n = LIST[0], TABLE["M"]


def reads_k():
    return OfK().k


class OfK(Exception):
    def __init__(self):
        self.k = K


def test_methods_of_own_containers_are_read_at_each_call():
    global G
    f = tapec.compile(lambda x: x * (stack.scaled() + mapping.scaled() + pair.scaled() + meters.scaled()))
    for k in range(4):
        G = k + 1.0
        assert f(2.0) == 8.0 * G


# -- modules ------------------------------------------------------------------------------------------------------
@pytest.fixture
def module():
    made = types.ModuleType("config")
    exec("M = 1.0\ndef energy(q): return M * q + 0.01\ndef sets(m):\n    global M\n    M = m\n", vars(made))
    return made


def by_attribute(module, m, q):
    module.M = m
    return module.energy(q)


def by_vars(module, m, q):
    vars(module).update(M=m)
    return module.energy(q)


def by_dict(module, m, q):
    module.__dict__["M"] = m
    return module.energy(q) + vars(module)["M"] - module.M


def by_its_function(module, m, q):
    module.sets(m)
    return module.M * q + 0.01 + vars(module).get("M") - m


def by_setdefault(module, m, q):
    vars(module).setdefault("M", 7.0)
    module.N = vars(module).setdefault("NEW", m) if "NEW" not in vars(module) else m
    return (module.M - 1.0 + module.N) * q + 0.01


@pytest.mark.parametrize("f", [by_attribute, by_vars, by_dict, by_its_function, by_setdefault])
def test_modules(module, f):
    transforms = (
        tapec.compile(lambda m, q: f(module, m, q)),
        tapec.value_and_grad(lambda m, q: f(module, m, q), argnums=(0, 1)),
    )
    for m, q in ((2.0, 3.0), (4.0, 5.0), (6.0, 7.0)):
        for transform in transforms:
            module.M = 1.0
            vars(module).pop("NEW", None)
            got = transform(m, q)
            value, slopes = got if type(got) is tuple else (got, (q, m))
            np.testing.assert_allclose(value, m * q + 0.01)
            np.testing.assert_allclose(slopes, (q, m))
            assert (module.N if f is by_setdefault else module.M) == m
            assert not isinstance(module.M, tapec.Tensor)


@pytest.mark.parametrize("method", [Phase.by_import, Phase.by_modules])
def test_a_module_that_code_looks_up_which_is_not_followed(method, module, monkeypatch):
    monkeypatch.setitem(sys.modules, "config_of_these_tests", module)

    def f(m):
        module.M = m
        return getattr(Phase.WATER, method.__name__)()

    with pytest.raises(UnsupportedError, match="the function sets config.M"):
        tapec.grad(f)(2.0)


def test_a_constructor_of_a_module(module):
    exec("class Body:\n    def __init__(self): self.m = M\n", vars(module))

    def f(m, q):
        module.M = m
        return module.Body().m * q

    g = tapec.value_and_grad(f, argnums=(0, 1))
    step = tapec.compile(lambda m, q: g(2.0 * m, q))
    for m, q in ((2.0, 3.0), (4.0, 5.0), (6.0, 7.0)):
        assert g(m, q) == (m * q, (q, m))
        assert step(m, q) == (2.0 * m * q, (q, 2.0 * m))


# -- dicts whose items are attributes ------------------------------------------------------------------------------
class Library(dict):
    __getattr__ = dict.__getitem__
    __setattr__ = dict.__setitem__
    __delattr__ = dict.__delitem__
    put = dict.__setitem__
    find = dict.get


class Written(dict):
    def __getattr__(self, name):
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None

    def __setattr__(self, name, value):
        self[name] = value

    def __delattr__(self, name):
        del self[name]


class Itself(dict):
    M = 9.0

    def __init__(self, **items):
        super().__init__(**items)
        self.__dict__ = self


WAYS = {
    "an item": lambda d, m: d.__setitem__("M", m),
    "update": lambda d, m: d.update(M=m),
    "an attribute": lambda d, m: setattr(d, "M", m),
}


@pytest.mark.parametrize("kind", [Library, Written, Itself])
@pytest.mark.parametrize("way", WAYS)
def test_dicts_whose_items_are_attributes(kind, way):
    held = kind(M=1.0, k=2.0)

    def f(m, q):
        WAYS[way](held, m)
        return held.M * q + held["M"] + held.k

    g = tapec.value_and_grad(f, argnums=(0, 1))
    for m, q in ((2.0, 3.0), (4.0, 5.0), (6.0, 7.0)):
        np.testing.assert_allclose(g(m, q)[0], f(m, q))
        np.testing.assert_allclose(g(m, q)[1], (q + 1.0, m))
        assert held == {"M": m, "k": 2.0}
        assert not isinstance(held["M"], tapec.Tensor)


@pytest.mark.parametrize("kind", [Library, Written, Itself])
def test_attributes_that_are_deleted(kind):
    held = kind(M=1.0)

    def f(m):
        held.N = m
        found = held.N
        del held.N
        return found * (2.0 if "N" in held else 1.0)

    assert tapec.value_and_grad(f)(3.0) == (3.0, 1.0)
    assert held == {"M": 1.0}


def test_methods_of_dicts_by_other_names():
    held = Library(M=1.0)

    def f(m):
        held.put("M", m * m)
        return held.find("M")

    assert tapec.value_and_grad(f)(3.0) == (9.0, 6.0)
    assert held == {"M": 9.0}


def test_attributes_beside_items_that_a_method_sets():
    class Both(dict):
        def __setattr__(self, name, value):
            super().__setattr__(name, value * 2.0)

    held = Both(a=1.0)

    def f(m):
        held.rate = m
        return held.rate * held["a"]

    g = tapec.value_and_grad(f)
    for m in (3.0, 4.0):
        np.testing.assert_allclose(g(m), (2.0 * m, 2.0))
        assert held.rate == 2.0 * m
        assert not isinstance(held.rate, tapec.Tensor)
    assert held == {"a": 1.0}


def test_functions_inside_read_attributes_of_dicts():
    held = Library(M=1.0)

    def f(m, q):
        held.M = m
        return tapec.grad(lambda a: held.M * a * a)(q)

    g = tapec.value_and_grad(f)
    for m in (2.0, 3.0):
        np.testing.assert_allclose(g(m, 3.0), (6.0 * m, 6.0))


INSTALLED = """
import functools
import importlib
LINES, RATE, SHOWN = None, 1.0, None

class Lines:
    def text(self):
        return "text"

def lines():
    global LINES
    if LINES is None:
        LINES = Lines()
    return LINES

@functools.lru_cache
def rate():
    return RATE if lines() is not None else 0.0

def show():
    lines().text()
    show.times = getattr(show, "times", 0) + 1

def set_rate(value):
    global RATE
    RATE = value

SCALE = None

@functools.lru_cache
def scale():
    return 1.0 if SCALE is None else SCALE

def set_scale(value):
    global SCALE
    SCALE = value
"""


@pytest.fixture
def package(tmp_path, monkeypatch):
    folder = tmp_path / "site-packages"
    folder.mkdir()
    (folder / "package_of_stale_reads.py").write_text(INSTALLED)
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.delitem(sys.modules, "package_of_stale_reads", raising=False)
    return importlib.import_module("package_of_stale_reads")


def test_what_an_installed_package_makes_for_the_first_one_who_asks(package):
    def f(x):
        package.show()
        return x * x * package.rate()

    g = tapec.grad(f)
    assert [g(3.0) for _ in range(3)] == [6.0] * 3
    assert package.LINES.text() == "text" and package.show.times == 3


def test_what_an_installed_package_sets_otherwise(package):
    def f(x):
        package.set_rate(2.0)
        return x * x * package.rate()

    with pytest.raises(UnsupportedError, match="the function sets RATE"):
        tapec.grad(f)(3.0)


@pytest.mark.parametrize("scale", [lambda x: 2.0, lambda x: 2.0 * x, lambda x: np.full(2, 2.0), lambda x: [2.0 * x]])
def test_what_an_installed_package_keeps_of_the_run(package, scale):
    """A number, an array or a container in the place of None may be what the run has computed."""

    def f(x):
        package.set_scale(scale(x))
        return x * np.sum(package.scale())

    with pytest.raises(UnsupportedError, match="the function sets SCALE"):
        tapec.grad(f)(3.0)
