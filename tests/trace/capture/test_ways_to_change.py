"""Each way in which captured state can change is seen: by a function that is kept, one made anew, and a nested one."""

import array
import collections
import contextvars
import ctypes
import dataclasses
import decimal
import enum
import fractions
import functools
import sys
import types
import typing
import warnings
import weakref

import numpy as np
import pytest

import tapec

X = np.array([0.3, 0.7, 1.1])
WAYS = {}


def way(make):
    """Register a function that returns what gives a number from captured state, and what changes that."""
    WAYS[make.__name__.replace("_", " ").strip()] = make
    return make


def numbers(set_to, values=(2.0, 3.0, 3.0, 0.5)):
    """Return changes that set a number."""
    return [functools.partial(set_to, v) for v in values]


# -- variables --------------------------------------------------------------------------------------------------------
RATE = 1.0
WEIGHTS = np.array([1.0, 2.0])


@way
def a_global():
    def change(v):
        global RATE
        RATE = v

    return lambda: RATE, numbers(change)


@way
def a_global_array_in_place():
    return lambda: WEIGHTS[0] * WEIGHTS[1], numbers(lambda v: WEIGHTS.fill(v))


@way
def a_global_by_its_dict():
    return lambda: globals()["RATE"], numbers(lambda v: globals().update(RATE=v))


@way
def a_variable_around():
    rate = 1.0

    def change(v):
        nonlocal rate
        rate = v

    return lambda: rate, numbers(change)


@way
def a_variable_of_two_closures():
    rate = 1.0

    def change(v):
        nonlocal rate
        rate = v

    def first():
        return rate

    def second():
        return rate * 2.0

    return lambda: first() + second(), numbers(change)


@way
def an_array_that_becomes_another():
    held = [np.ones(2)]
    others = [np.zeros(2), np.ones(3), np.ones(2, np.float32), np.array(2.0), 3.0, np.float32(4.0), 5]
    return lambda: np.sum(held[0]), [functools.partial(held.__setitem__, 0, v) for v in others]


@way
def defaults():
    def f(a=1.0, *, b=2.0, c=None):
        return a * b * (c or 1.0)

    def change(v):
        f.__defaults__ = (v,)
        f.__kwdefaults__ = {"b": v + 1.0, "c": v}

    return lambda: f(), numbers(change)


@way
def a_list_that_is_a_default():
    def f(a=[1.0, 2.0]):  # noqa: B006  # that it changes is what is tested
        return a[0] * a[-1]

    return lambda: f(), numbers(lambda v: f.__defaults__[0].append(v))


@way
def the_code_of_a_function():
    def f():
        return 1.0

    def twice():
        return 2.0

    def thrice():
        return 3.0

    changes = [functools.partial(setattr, f, "__code__", other.__code__) for other in (twice, thrice)]
    return lambda: f(), changes


@way
def an_attribute_of_a_function():
    def f():
        return f.rate

    f.rate = 1.0
    return lambda: f(), numbers(lambda v: setattr(f, "rate", v))


# -- attributes -------------------------------------------------------------------------------------------------------
class Plain:
    rate = 1.0
    table: typing.ClassVar = {"w": 1.0}

    def __init__(self):
        self.w, self.rows = 1.0, [1.0, [2.0]]

    @property
    def twice(self):
        return self.w * 2.0

    @functools.cached_property
    def kept(self):
        return self.w * 3.0

    @classmethod
    def of_class(cls):
        return cls.rate

    @staticmethod
    def alone():
        return RATE

    def method(self):
        return self.w * self.rate


@pytest.fixture(autouse=True)
def _as_it_was():
    global RATE
    yield
    RATE = 1.0
    WEIGHTS[:] = 1.0, 2.0
    Plain.rate, Plain.table = 1.0, {"w": 1.0}


@way
def an_attribute():
    x = Plain()
    return lambda: x.w, numbers(lambda v: setattr(x, "w", v))


@way
def an_attribute_by_its_dict():
    x = Plain()
    return lambda: x.w + vars(x)["w"], numbers(lambda v: x.__dict__.update(w=v))


@way
def an_attribute_by_getattr():
    x = Plain()
    name = "w"
    return lambda: getattr(x, name) + (2.0 if hasattr(x, "other") else 0.0), [
        *numbers(lambda v: setattr(x, "w", v)),
        lambda: setattr(x, "other", 1.0),
        lambda: delattr(x, "other"),
    ]


@way
def an_attribute_that_hides_that_of_the_class():
    x = Plain()
    changes = [lambda: setattr(x, "rate", 2.0), lambda: setattr(Plain, "rate", 3.0), lambda: delattr(x, "rate")]
    return lambda: x.rate * x.method(), changes


@way
def an_attribute_of_a_class():
    x = Plain()
    return lambda: x.rate + Plain.rate + x.of_class() + Plain.of_class(), numbers(lambda v: setattr(Plain, "rate", v))


@way
def a_container_of_a_class():
    x = Plain()
    return lambda: x.table["w"] * Plain.table["w"], numbers(lambda v: Plain.table.update(w=v))


@way
def what_a_static_method_reads():
    x = Plain()
    return lambda: x.alone() + Plain.alone(), numbers(lambda v: globals().update(RATE=v))


@way
def a_property():
    x = Plain()
    return lambda: x.twice, numbers(lambda v: setattr(x, "w", v))


@way
def a_property_that_is_replaced():
    class Own(Plain):
        @property
        def mine(self):
            return 1.0

    x = Own()
    return lambda: x.mine, numbers(lambda v: setattr(Own, "mine", property(lambda self: self.w * v)))


@way
def a_cached_property():
    x = Plain()
    return lambda: x.kept, [
        lambda: setattr(x, "w", 2.0),
        lambda: x.__dict__.pop("kept"),
        lambda: setattr(x, "kept", 9.0),
    ]


@way
def a_method_that_is_replaced():
    class Own(Plain):
        def mine(self):
            return 1.0

    x = Own()
    changes = numbers(lambda v: setattr(Own, "mine", lambda self: v))
    return lambda: x.mine(), [*changes, lambda: setattr(x, "mine", lambda: 7.0), lambda: delattr(x, "mine")]


@way
def another_class():
    class One:
        def mine(self):
            return self.w

    class Other:
        def mine(self):
            return self.w * 2.0

    x = One()
    x.w = 3.0
    return lambda: x.mine(), [lambda: setattr(x, "__class__", Other), lambda: setattr(x, "__class__", One)]


@way
def another_base_class():
    class One:
        def mine(self):
            return 1.0

    class Other:
        def mine(self):
            return 2.0

    class Own(One):
        pass

    x = Own()
    return lambda: x.mine(), [lambda: setattr(Own, "__bases__", (Other,)), lambda: setattr(Own, "__bases__", (One,))]


class Descriptor:
    def __init__(self):
        self.scale = 1.0

    def __get__(self, x, kind=None):
        return x.w * self.scale

    def __set__(self, x, value):
        x.w = value


@way
def a_descriptor():
    class Own:
        mine = Descriptor()

    x = Own()
    x.w = 1.0
    changes = numbers(lambda v: setattr(x, "mine", v))
    return lambda: x.mine, [*changes, *numbers(lambda v: setattr(vars(Own)["mine"], "scale", v))]


@way
def getattr_of_the_user():
    class Own:
        def __init__(self):
            self.held = {"w": 1.0}

        def __getattr__(self, name):
            try:
                return self.__dict__["held"][name]
            except KeyError:
                raise AttributeError(name) from None

    x = Own()
    changes = numbers(lambda v: x.held.update(w=v))
    return lambda: x.w * getattr(x, "z", 2.0), [*changes, lambda: x.held.update(z=5.0), lambda: setattr(x, "w", 8.0)]


@way
def getattribute_of_the_user():
    class Own:
        def __init__(self):
            self.w = 1.0

        def __getattribute__(self, name):
            found = object.__getattribute__(self, name)
            return found * 2.0 if name == "w" else found

    x = Own()
    return lambda: x.w, numbers(lambda v: setattr(x, "w", v))


@way
def slots():
    class Base:
        __slots__ = ("a",)

    class Own(Base):
        __slots__ = ("b", "c")

    x = Own()
    x.a = x.b = 1.0
    changes = [*numbers(lambda v: setattr(x, "a", v)), *numbers(lambda v: setattr(x, "b", v))]
    return lambda: x.a * x.b + hasattr(x, "c"), [*changes, lambda: setattr(x, "c", 1), lambda: delattr(x, "c")]


@way
def an_object_in_an_object_in_a_list():
    x = Plain()
    x.inner = [Plain(), {"x": Plain()}]
    changes = [*numbers(lambda v: setattr(x.inner[0], "w", v)), *numbers(lambda v: setattr(x.inner[1]["x"], "w", v))]
    return lambda: x.inner[0].w * x.inner[1]["x"].method(), [*changes, lambda: x.inner.__setitem__(0, Plain())]


# -- classes of the library's -----------------------------------------------------------------------------------------
@way
def a_dataclass():
    @dataclasses.dataclass
    class Own:
        w: float = 1.0
        more: list = dataclasses.field(default_factory=lambda: [2.0])

    held = [Own()]
    changes = [*numbers(lambda v: setattr(held[0], "w", v)), *numbers(lambda v: held[0].more.append(v))]
    return lambda: held[0].w * held[0].more[-1], [
        *changes,
        lambda: held.__setitem__(0, dataclasses.replace(held[0], w=4.0)),
    ]


@way
def a_frozen_dataclass_with_slots():
    @dataclasses.dataclass(frozen=True, slots=True)
    class Own:
        w: float = 1.0
        k: int = 2

    held = [Own()]
    return lambda: held[0].w * held[0].k, numbers(lambda v: held.__setitem__(0, Own(v, int(v))))


class Pair(typing.NamedTuple):
    w: float
    rows: list


@way
def a_named_tuple():
    held = [Pair(1.0, [2.0])]
    changes = [
        *numbers(lambda v: held.__setitem__(0, held[0]._replace(w=v))),
        *numbers(lambda v: held[0].rows.append(v)),
    ]
    return lambda: held[0].w * held[0].rows[-1] + held[0][0], changes


@way
def a_defaultdict():
    d = collections.defaultdict(lambda: 3.0, w=1.0)
    changes = [*numbers(lambda v: d.update(w=v)), lambda: d.update(z=5.0)]
    return lambda: d["w"] * d.get("z", 2.0), [*changes, lambda: setattr(d, "default_factory", None)]


@way
def the_factory_of_a_defaultdict():
    d = collections.defaultdict(lambda: 3.0)

    def change(v):
        d.clear()
        d.default_factory = lambda: v

    return lambda: d["w"], numbers(change)


@way
def a_counter_and_an_ordered_dict():
    c, o = collections.Counter("aab"), collections.OrderedDict(w=1.0, v=2.0)
    return lambda: c["a"] * next(iter(o.values())) + c["z"], [
        lambda: c.update("aaz"),
        lambda: o.move_to_end("w"),
        lambda: o.update(v=4.0),
    ]


@way
def a_chain_map():
    inner = {"w": 1.0}
    d = collections.ChainMap({}, inner)
    return lambda: d["w"], [*numbers(lambda v: inner.update(w=v)), lambda: d.update(w=9.0)]


@way
def a_user_dict():
    d = collections.UserDict(w=1.0)
    return lambda: d["w"] * len(d), [*numbers(lambda v: d.update(w=v)), lambda: d.update(z=1.0)]


@way
def a_mapping_proxy():
    inner = {"w": 1.0}
    d = types.MappingProxyType(inner)
    return lambda: d["w"], numbers(lambda v: inner.update(w=v))


@way
def a_set():
    s = {1, 2}
    return lambda: len(s) + (2.0 if 5 in s else 1.0) + sum(s), [
        lambda: s.add(5),
        lambda: s.discard(1),
        lambda: s.clear(),
    ]


@way
def objects_in_a_set():
    x = Plain()
    s = {x}
    return lambda: sum(y.w for y in s), numbers(lambda v: setattr(x, "w", v))


@way
def a_weak_reference():
    objects = [Plain(), Plain()]
    held = [weakref.ref(objects[0])]

    def another():
        held[0] = weakref.ref(objects[1])

    def gone():
        other = Plain()
        held[0] = weakref.ref(other)

    read = lambda: 9.0 if held[0]() is None else held[0]().w
    return read, [*numbers(lambda v: setattr(objects[0], "w", v)), lambda: setattr(objects[1], "w", 7.0), another, gone]


@way
def a_weak_dict():
    key, d = Plain(), weakref.WeakKeyDictionary()
    d[key] = 1.0
    return lambda: d[key], numbers(lambda v: d.__setitem__(key, v))


@way
def a_cached_helper():
    state = {"w": 1.0}

    @functools.lru_cache
    def helper():
        return state["w"] * 2.0

    return lambda: helper(), [lambda: state.update(w=2.0), helper.cache_clear, lambda: state.update(w=3.0)]


@way
def a_cached_helper_with_arguments():
    @functools.lru_cache(maxsize=1)
    def helper(n):
        return n * RATE

    return lambda: helper(2) + helper(3), [lambda: globals().update(RATE=4.0), helper.cache_clear]


@way
def a_partial():
    held = [functools.partial(lambda a, b=1.0: a * b, 1.0)]
    others = [functools.partial(lambda a, b=1.0: a * b, v, b=v) for v in (2.0, 3.0)]
    return lambda: held[0](), [functools.partial(held.__setitem__, 0, p) for p in others]


@way
def the_keywords_of_a_partial():
    p = functools.partial(lambda a, b=1.0: a * b, 1.0, b=2.0)
    return lambda: p(), numbers(lambda v: p.keywords.update(b=v))


@way
def single_dispatch():
    @functools.singledispatch
    def f(x):
        return 1.0

    def register(v):
        f.register(float, lambda x: v)

    return lambda: f(2.0), numbers(register)


@way
def a_context_variable():
    var = contextvars.ContextVar("var", default=1.0)
    return lambda: var.get(), numbers(lambda v: var.set(v))


@way
def a_module():
    module = types.ModuleType("mine")
    module.rate, module.rows = 1.0, [1.0]
    exec("def f():\n    return rate * rows[-1]", module.__dict__)
    changes = [*numbers(lambda v: setattr(module, "rate", v)), *numbers(lambda v: module.rows.append(v))]
    return lambda: module.f() + module.rate, changes


@way
def a_module_that_is_imported_inside():
    module = sys.modules["a_module_of_the_test"] = types.ModuleType("a_module_of_the_test")
    module.rate = 1.0

    def read():
        import a_module_of_the_test as found

        return found.rate

    return read, numbers(lambda v: setattr(module, "rate", v))


# -- what C code keeps ------------------------------------------------------------------------------------------------
class Structure(ctypes.Structure):
    _fields_ = [("w", ctypes.c_double), ("n", ctypes.c_int)]


@way
def a_c_structure():
    s = Structure(1.0, 2)
    return lambda: s.w * s.n, [*numbers(lambda v: setattr(s, "w", v)), lambda: setattr(s, "n", 5)]


@way
def a_c_array():
    s = (ctypes.c_double * 3)(1.0, 2.0, 3.0)
    return lambda: s[1] * sum(s[:2]), numbers(lambda v: s.__setitem__(1, v))


@way
def an_array_of_the_standard_library():
    a = array.array("d", [1.0, 2.0])
    return lambda: a[1] * len(a), [*numbers(lambda v: a.__setitem__(1, v)), lambda: a.append(3.0)]


@way
def a_bytearray():
    a = bytearray(b"\x01\x02")
    return lambda: float(a[1]), [lambda: a.__setitem__(1, 5), lambda: a.__setitem__(1, 6)]


@way
def a_memory_view():
    a = np.array([1.0, 2.0])
    view = memoryview(a)
    return lambda: view[1], numbers(lambda v: a.__setitem__(1, v))


@way
def an_object_with_a_buffer():
    a = np.array([1.0, 2.0])
    view = np.asarray(memoryview(a))
    return lambda: view[1], numbers(lambda v: a.__setitem__(1, v))


# -- arrays -----------------------------------------------------------------------------------------------------------
@way
def a_view():
    a = np.arange(6.0)
    view = a[::2]
    return lambda: np.sum(view), numbers(lambda v: a.__setitem__(2, v))


@way
def integers_and_masks():
    k, mask = np.array([0, 1]), np.array([True, False, True])
    w = np.array([1.0, 2.0, 4.0])
    return lambda: np.sum(w[k]) + np.sum(w[mask]), [lambda: k.fill(2), lambda: mask.fill(True), lambda: w.fill(3.0)]


@way
def an_array_without_axes():
    a = np.array(1.0)
    return lambda: a * 2.0, numbers(lambda v: a.fill(v))


@way
def a_structured_array():
    a = np.zeros(2, [("w", float), ("n", int)])
    return lambda: a["w"][1] + a["n"][0], [*numbers(lambda v: a["w"].fill(v)), lambda: a["n"].fill(3)]


@way
def an_array_of_objects():
    a = np.array([1.0, None, "x"], dtype=object)
    return lambda: a[0] + (2.0 if a[1] is None else 1.0), [*numbers(lambda v: a.__setitem__(0, v)), lambda: a.fill(5.0)]


@way
def an_array_of_texts():
    a = np.array(["a", "b"])
    return lambda: 2.0 if a[0] == "a" else 3.0, [lambda: a.__setitem__(0, "b"), lambda: a.__setitem__(0, "a")]


@way
def what_a_table_maps_to():
    table = {("a", 1): np.ones(2), "b": [np.ones(2)]}
    return lambda: np.sum(table["a", 1]) * np.sum(table["b"][0]), [
        lambda: table["a", 1].fill(2.0),
        lambda: table["b"].insert(0, np.full(2, 3.0)),
        lambda: table.update({("a", 1): np.full(3, 5.0)}),
    ]


# -- numbers ----------------------------------------------------------------------------------------------------------
@way
def numbers_of_other_kinds():
    held = [1.0]
    others = [1, True, np.float32(1.0), np.int8(3), 2**70, fractions.Fraction(1, 2), 0.0, -0.0, 2.5]
    return lambda: held[0] * 2 + 0.0, [functools.partial(held.__setitem__, 0, v) for v in others]


@way
def numbers_of_the_library():
    held = {"f": fractions.Fraction(1, 2), "d": decimal.Decimal("1.5")}
    changes = [lambda: held.update(f=fractions.Fraction(3, 2)), lambda: held.update(d=decimal.Decimal("2.5"))]
    return lambda: float(held["f"]) * float(held["d"]), changes


class Color(enum.Enum):
    RED = 1.0
    BLUE = 2.0


@way
def members_of_an_enum():
    held = [Color.RED]
    return lambda: held[0].value if held[0] is Color.RED else 5.0, [
        lambda: held.__setitem__(0, Color.BLUE),
        lambda: held.__setitem__(0, Color.RED),
    ]


@way
def texts_and_none():
    held = {"mode": "a", "w": None}
    return lambda: (2.0 if held["mode"] == "a" else 3.0) * (1.0 if held["w"] is None else held["w"]), [
        lambda: held.update(mode="b"),
        lambda: held.update(w=4.0),
        lambda: held.update(w=None),
    ]


def kept(read):
    return tapec.value_and_grad(lambda x: np.sum(x**2) * read())


def made_anew(read):
    return lambda x: tapec.value_and_grad(lambda v: np.sum(v**2) * read())(x)


def in_a_nested_one(read):
    def outer(x):
        gradient = tapec.grad(lambda v: np.sum(v**2) * read())(x)
        return np.sum(gradient * x) / 2.0

    return tapec.value_and_grad(outer)


@pytest.mark.parametrize("transform", [kept, made_anew, in_a_nested_one])
@pytest.mark.parametrize("name", WAYS)
def test_changes_are_seen(name, transform):
    read, changes = WAYS[name]()
    g = transform(read)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tapec.TapecWarning)
        for change in [lambda: None, *changes, lambda: None]:
            change()
            for _ in range(2):
                found = g(X)
                expected = float(read())
                np.testing.assert_allclose(found[0], np.sum(X**2) * expected)
                np.testing.assert_allclose(found[1], 2 * X * expected)


class Tables:
    """Keeps what its methods return."""

    def __init__(self):
        self.w = 1.0

    @functools.lru_cache  # noqa: B019  # which is what is tested
    def table(self, n):
        return [self.w * n, np.full(3, self.w)]

    @staticmethod
    @functools.cache
    def alone(n, scale=1.0):
        return n * scale * RATE


def test_what_a_cached_method_keeps_is_the_users():
    x, n, scale = Tables(), 2.0, 3.0
    f = lambda v: np.sum(v * x.table(n)[1]) * x.table(n)[0] * x.table(2)[0] + np.sum(v) * x.alone(2, scale=scale)
    for g in (tapec.value_and_grad(f), in_a_value(f)):
        Tables.table.cache_clear(), Tables.alone.cache_clear()
        for w in (1.0, 2.0, 2.0):
            x.w = w
            for clear in (False, True):
                if clear:
                    Tables.table.cache_clear()
                value, gradient = g(X)
                np.testing.assert_allclose(value, f(X))
                np.testing.assert_allclose(gradient, [f(e) for e in np.eye(3)])
                kept = x.table(2.0)
                assert type(kept[0]) is float and type(kept[1]) is np.ndarray


def in_a_value(f):
    return tapec.value_and_grad(lambda v: np.sum(tapec.grad(f)(X) * v))
