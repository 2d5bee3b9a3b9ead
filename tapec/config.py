"""Settings: few, typed, read from the environment once, changed for a while by `with tapec.settings(...)`.

Comes in: `TAPEC_VERIFY` and its like.  Goes out: `settings`.
Must not be imported here: anything of tapec but `errors` and `tuples`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextvars import ContextVar, Token
from operator import attrgetter
from threading import RLock
from typing import TYPE_CHECKING, Any, Literal

from tapec.errors import warn_user
from tapec.fast_namedtuple import NamedTuple

__all__ = ["ABOUT", "CODE_SETTINGS", "Settings", "count_changes", "settings"]


class Values(NamedTuple):
    """Holds the values of all settings, with their defaults."""

    verify: bool | str = False
    debug: int = 0
    dump: str = ""
    cache_size: int = 1024
    cache_dir: str = ""
    cache_dir_size: int = 256
    path_limit: int = 64
    fast_math: bool = False
    check_nan: bool = False
    optimize: bool = True
    composite: bool = True
    threads: int = 1
    check: str = "first"
    traceback: str = "user"
    progress: bool = True


ABOUT = {
    "verify": "check every graph after every pass; `values`: compare also what it computes with what it did before",
    "debug": "1: tell the standard error what is compiled; 2: also the time of each pass",
    "dump": "a folder to which the graphs and the source of all that is compiled are written",
    "cache_size": "compiled gradients and functions kept",
    "cache_dir": "a folder of your own in which generated code is kept for other processes",
    "cache_dir_size": "megabytes kept in that folder; what was not used for longest is dropped",
    "path_limit": "paths of a function, and states of what it captures, compiled before it runs as a tape would",
    "fast_math": "rewrites may forget about nan, inf, overflow and the sign of zero",
    "check_nan": "stop at the first generated line that makes a nan or an infinity",
    "optimize": "run all passes; if not, those that results need: plain code, as it was differentiated, and where-safe",
    "composite": "differentiate formulas such as log(sum(exp(x))) as a whole; if not, each operation by itself",
    "threads": "threads over blocks of large arrays",
    "check": "compare with plain NumPy: the first call of each path, every call, or never",
    "traceback": "what tracebacks show: `user`, frames of your code and of libraries; `full`, those of tapec as well",
    "progress": "say on a terminal, or in a notebook, what a first call does that takes longer than a second",
}
CODE_SETTINGS = ("check_nan", "composite", "fast_math", "optimize", "threads")  # those that change the generated code
_LEAST = {"debug": 0, "cache_size": 1, "cache_dir_size": 1, "path_limit": 0, "threads": 1}
_CHOICES = {"check": ("first", "every", "never"), "traceback": ("user", "full")}
_WORDS = {"verify": ("values",)}  # what else a setting may be, beside its type
_TRUTH = {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False, "off": False}
_KINDS: dict[str, type] = {name: type(default) for name, default in Values._field_defaults.items()}


class Settings:
    """Holds the settings in force.

    Each setting is an attribute; `print(tapec.settings)` shows all. The environment variables TAPEC_... set them for
    the whole process, when tapec is imported. A call gives a context manager that changes some for a while, in this
    thread or task alone.

    Parameters
    ----------
    **changes : object
        The settings to change, by name.

    Returns
    -------
    context manager
        In its block the changed settings are in force. It can be entered again and again.

    Raises
    ------
    TypeError
        If there is no such setting, or the value is of another type.
    ValueError
        If the value is too small, or is none of those that the setting may have.

    Examples
    --------
    >>> from tapec import settings
    >>> with settings(path_limit=8):
    ...     settings.path_limit
    8
    >>> settings.path_limit
    64

    See Also
    --------
    tapec.cache_info : what the setting `cache_size` bounds
    """

    __slots__ = ()

    now = property(lambda self: _CURRENT.get(), doc="All of them, as one value that does not change.")

    # One property a setting: a type checker sees them, and reading costs one ContextVar look-up.
    verify = property(lambda self: _CURRENT.get().verify, doc=ABOUT["verify"])
    debug = property(lambda self: _CURRENT.get().debug, doc=ABOUT["debug"])
    dump = property(lambda self: _CURRENT.get().dump, doc=ABOUT["dump"])
    cache_size = property(lambda self: _CURRENT.get().cache_size, doc=ABOUT["cache_size"])
    cache_dir = property(lambda self: _CURRENT.get().cache_dir, doc=ABOUT["cache_dir"])
    cache_dir_size = property(lambda self: _CURRENT.get().cache_dir_size, doc=ABOUT["cache_dir_size"])
    path_limit = property(lambda self: _CURRENT.get().path_limit, doc=ABOUT["path_limit"])
    fast_math = property(lambda self: _CURRENT.get().fast_math, doc=ABOUT["fast_math"])
    check_nan = property(lambda self: _CURRENT.get().check_nan, doc=ABOUT["check_nan"])
    optimize = property(lambda self: _CURRENT.get().optimize, doc=ABOUT["optimize"])
    composite = property(lambda self: _CURRENT.get().composite, doc=ABOUT["composite"])
    threads = property(lambda self: _CURRENT.get().threads, doc=ABOUT["threads"])
    check = property(lambda self: _CURRENT.get().check, doc=ABOUT["check"])
    traceback = property(lambda self: _CURRENT.get().traceback, doc=ABOUT["traceback"])
    progress = property(lambda self: _CURRENT.get().progress, doc=ABOUT["progress"])

    if TYPE_CHECKING:  # so that checkers know the names and kinds; tests/typing holds it to `Values`

        def __call__(
            self,
            *,
            verify: bool | Literal["values"] = ...,
            debug: int = ...,
            dump: str = ...,
            cache_size: int = ...,
            cache_dir: str = ...,
            cache_dir_size: int = ...,
            path_limit: int = ...,
            fast_math: bool = ...,
            check_nan: bool = ...,
            optimize: bool = ...,
            composite: bool = ...,
            threads: int = ...,
            check: Literal["first", "every", "never"] = ...,
            traceback: Literal["user", "full"] = ...,
            progress: bool = ...,
        ) -> _Changed: ...

    else:

        def __call__(self, **changes: Any) -> _Changed:
            for name, value in changes.items():
                _check(name, value)
            return _Changed(changes)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(_unknown(name))

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(
            f"settings are changed for a while: `with tapec.settings({name}={value!r}):`, "
            f"or for the whole process by TAPEC_{name.upper()}"
        )

    def __repr__(self) -> str:
        now = _CURRENT.get()
        width = max(map(len, _KINDS))
        return "\n".join([f"{name:<{width}} = {getattr(now, name)!r}" for name in _KINDS])


class _Changed:
    """Puts changed settings in force on entry, and the old ones back on exit. It can be entered again and again."""

    __slots__ = ("_changes", "_tokens")

    def __init__(self, changes: dict[str, Any]):
        self._changes = changes
        self._tokens: list[Token[Values]] = []

    def __enter__(self) -> Settings:
        self._tokens.append(_CURRENT.set(_CURRENT.get()._replace(**self._changes)))
        count_changes(1)
        return settings

    def __exit__(self, *exc: Any) -> None:
        _CURRENT.reset(self._tokens.pop())
        count_changes(-1)


# How many `with settings(...)` are open and functions being traced, in all threads: where there are none, nobody needs
# to ask what is in force.
changes = [0]
_lock = RLock()


def count_changes(step: int) -> None:
    with _lock:
        changes[0] += step


def _unknown(name: str) -> str:
    close = _close_to(name)
    hint = f"did you mean {close[0]!r}?" if close else f"settings are {', '.join(_KINDS)}"
    return f"no setting is called {name!r}; {hint}"


def _close_to(name: str) -> list[str]:
    import difflib  # for messages alone

    return difflib.get_close_matches(name, _KINDS, n=1)


def _check(name: str, value: Any) -> None:
    if name not in _KINDS:
        raise TypeError(_unknown(name))
    kind: Any = _KINDS[name]
    if type(value) is not kind and value not in _WORDS.get(name, ()):
        words = "".join([f" or {word!r}" for word in _WORDS.get(name, ())])
        raise TypeError(f"setting {name} takes {_article(kind)}{words}, not {value!r}")
    if name in _LEAST and value < _LEAST[name]:
        raise ValueError(f"setting {name} must be at least {_LEAST[name]}, not {value}")
    if name in _CHOICES and value not in _CHOICES[name]:
        raise ValueError(f"setting {name} is one of {', '.join(map(repr, _CHOICES[name]))}, not {value!r}")


def _article(kind: type) -> str:
    return {int: "an int", str: "a str"}.get(kind, "True or False")


def from_environment(environment: Mapping[str, str]) -> Values:
    """The settings that a process starts with."""
    found: dict[str, Any] = {}
    for name, kind in _KINDS.items():
        key = f"TAPEC_{name.upper()}"
        text = environment.get(key, "").strip()
        if text:
            found[name] = _read(key, text, kind, _WORDS.get(name, ()))
            _check(name, found[name])
    return Values(**found)


def unknown_in(environment: Mapping[str, str]) -> str:
    """Return what to tell about variables that are named as those of settings are, and are none; mostly nothing."""
    found = [k for k in environment if k.startswith("TAPEC_") and k.removeprefix("TAPEC_").lower() not in _KINDS]
    told = []
    for key in sorted(found):
        close = _close_to(key.removeprefix("TAPEC_").lower())
        told.append(f"{key} (did you mean TAPEC_{close[0].upper()}?)" if close else key)
    return f"tapec has no such settings, and nothing reads them: {', '.join(told)}" if told else ""


def _read(key: str, text: str, kind: type, words: tuple[str, ...]) -> Any:
    if kind is str:
        return text
    if text.lower() in words:
        return text.lower()
    if kind is bool:
        if text.lower() in _TRUTH:
            return _TRUTH[text.lower()]
        more = "".join([f" or {word}" for word in words])
        raise ValueError(f"{key}={text}: write 1 or 0 (true, false, yes, no, on and off will do){more}")
    try:
        return int(text)
    except ValueError:
        raise ValueError(f"{key}={text}: write a whole number") from None


class _Unreadable:
    """Stands in for the settings where the environment cannot be read.

    So tapec can be imported, and whoever asks for a setting is told of the error.
    """

    def __init__(self, error: ValueError):
        self.why = str(error)

    def __getattr__(self, name: str) -> Any:
        raise (AttributeError(name) if name.startswith("__") else ValueError(self.why))


def _at_start() -> Any:
    try:
        return from_environment(os.environ)
    except ValueError as error:
        return _Unreadable(error)


_START: Values = _at_start()
_strange = unknown_in(os.environ)
if _strange:
    warn_user(_strange)
_CURRENT: ContextVar[Values] = ContextVar("tapec_settings", default=_START)
settings = Settings()

base = _START  # what is in force where nothing was changed
in_force = _CURRENT.get  # the values themselves: one object for as long as nothing changes
code_settings = attrgetter(*CODE_SETTINGS)  # of such values, those that the generated code depends on


def call_settings(values: Values) -> tuple[Any, bool]:
    """Return those on which it depends what a call runs."""
    return code_settings(values), values.check == "every"
