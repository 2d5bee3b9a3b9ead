"""`NamedTuple`: typing's, whose classes are made in a tenth of the time.

Typing's compiles a constructor for each class, and each annotation. With the many small classes that a compiler has,
this was a quarter of what importing it took, and that is most of a first call. Here, constructors of as many fields
have the same code under other names, and annotations are for readers and type checkers.

Must not be imported here: anything of tapec.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

__all__ = ["NamedTuple"]

if TYPE_CHECKING:
    from typing import NamedTuple
else:
    from collections import namedtuple
    from functools import cache
    from types import FunctionType

    _NAMES = [f"f{k}" for k in range(16)]  # there are no more fields than these
    _GETTERS = [*map(vars(namedtuple("_", _NAMES)).get, _NAMES)]
    _SPACE = {"_new": tuple.__new__, "__builtins__": {}}

    @cache
    def _constructor(n):
        """The code of a constructor of n fields."""
        given = "".join([f"{name}, " for name in _NAMES[:n]])
        return eval(f"lambda _cls, {given}: _new(_cls, ({given}))", _SPACE).__code__

    class _Methods(tuple):
        """Has the methods of all these classes, as those of typing have them."""

        __slots__ = ()

        @classmethod
        def _make(cls, values):
            return cls(*values)

        def _replace(self, /, **changes):
            new = tuple.__new__(type(self), map(changes.pop, self._fields, self))
            if changes:
                raise TypeError(f"{type(self).__name__} has no {', '.join(changes)}")
            return new

        __replace__ = _replace

        def _asdict(self):
            return dict(zip(self._fields, self, strict=True))

        def __repr__(self):
            return f"{type(self).__name__}({', '.join([f'{k}={v!r}' for k, v in self._asdict().items()])})"

        def __getnewargs__(self):
            return tuple(self)

    class _Maker(type):
        """The class of `NamedTuple` alone: what is derived from it is an ordinary class."""

        def __new__(cls, name, bases, space):
            fields = tuple(space["__annotations__"])
            defaults = {field: space[field] for field in fields if field in space}
            code = _constructor(len(fields)).replace(co_varnames=("_cls", *fields))
            new = FunctionType(code, _SPACE, "__new__", tuple(defaults.values()))
            new.__qualname__ = f"{space['__qualname__']}.__new__"  # which errors name
            space |= {"__slots__": (), "__match_args__": fields, "_fields": fields, "_field_defaults": defaults}
            space |= {"__new__": new, **dict(zip(fields, _GETTERS, strict=False))}
            return type(name, (_Methods,), space)

    NamedTuple = type.__new__(_Maker, "NamedTuple", (), {})
