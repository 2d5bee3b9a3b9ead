"""Find the fix that an error names for a line at which a tensor would lose its gradient."""

from __future__ import annotations

import itertools
from importlib import import_module
from typing import Any

import numpy as np

from tapec.errors import (
    DetachError,
    UnsupportedError,
    at_user_line,
    is_installed,
    is_user_file,
    place_name,
    scipy_package,
    script_frame,
    user_frame,
)
from tapec.extras import install_hint, is_missing
from tapec.trace.escape.bytecode_site import Site, call_site, site_at
from tapec.trace.escape.printing import plain_arguments

__all__ = ["asks_truth", "detach_error", "detaches", "math_fix", "shuffles", "surface", "without_attribute"]

_NAMES = {  # where NumPy's or SciPy's name is not that of `math`
    "fabs": "np.abs",
    "fsum": "np.sum",
    "prod": "np.prod",
    "dist": "np.linalg.norm(a - b)",
    "erf": "scipy.special.erf",
    "erfc": "scipy.special.erfc",
    "gamma": "scipy.special.gamma",
    "lgamma": "scipy.special.gammaln",
    "perm": "tapec.scipy.special.perm",
    "comb": "tapec.scipy.special.comb",
    "phase": "np.angle",
    "remainder": "x - y * np.round(x / y)",  # np.remainder is another one
    "fma": "x * y + z",
    "pow": "np.power",
    "isqrt": "np.floor(np.sqrt(x))",
}
_STATISTICS = {
    "mean": "np.mean(x)",
    "fmean": "np.mean(x)",
    "median": "np.median(x)",
    "stdev": "np.std(x, ddof=1)",
    "variance": "np.var(x, ddof=1)",
    "pstdev": "np.std(x)",
    "pvariance": "np.var(x)",
}
_QUESTIONS = {"isnan", "isinf", "isfinite", "isclose", "floor", "ceil", "trunc"}  # these carry no gradient


def math_fix(function: Any) -> str | None:
    """Return NumPy's counterpart of a function of `math`, `cmath` or `statistics`."""
    module = getattr(function, "__module__", None)
    if module == "statistics":
        return _STATISTICS.get(function.__name__)
    if module not in ("math", "cmath"):
        return None
    name = function.__name__
    if name in _NAMES:
        return _NAMES[name]
    return f"np.{name}" if hasattr(np, name) else None


def detaches() -> bool:
    """Return whether a line on a tape loses the gradient without saying so. `float(t)` says that it leaves the
    recording."""
    site = call_site()
    if site.kind != "call":
        return site.kind not in ("format", "iteration")
    function = site.function
    if function is None:  # a method of something, of an array most likely, or what nobody can tell
        return True
    if _package_of(function) in ("math", "cmath", "statistics"):
        return function.__name__ not in _QUESTIONS
    owner = getattr(function, "__self__", None)
    if isinstance(owner, np.ndarray) or _is_generator(owner):
        return True
    return _package_of(function) in ("numpy", "scipy")


def asks_truth() -> bool:
    """Return whether a line calls a function of NumPy's that answers with an object where one is true."""
    site = call_site()
    if site.function is np.logical_or or site.function is np.logical_and:
        return True
    return site.kind == "call" and not {"logical_or", "logical_and"}.isdisjoint(site.name.split("."))  # their methods


def shuffles() -> bool:
    """Return whether a line calls a generator of random numbers, which puts elements in another order as they are."""
    return _is_generator(getattr(call_site().function, "__self__", None))


def _is_generator(x: Any) -> bool:
    return isinstance(x, (np.random.Generator, np.random.RandomState))


def _package_of(function: Any) -> str:
    return (getattr(function, "__module__", None) or "").partition(".")[0]


def detach_error(tensor: Any, asked: str, dtype: Any = None) -> DetachError:
    """The error for this line; `asked` says what Python or NumPy wanted: "float", "array", ..."""
    package, script = user_frame(), script_frame()
    if package is script or script is None:
        what, fix = _explain(call_site(), asked, dtype)
    else:
        name = site_at(script, script.f_lasti).name
        what, fix = f"{name}()" if name else "an installed package", _OUTSIDE
    kind = f"a recorded tensor of shape {tensor.shape}" if tensor.shape else "a recorded tensor"
    return DetachError(at_user_line(f"{what} would turn {kind} into plain numbers and lose its gradient. Fix: {fix}"))


_OUTSIDE = (
    "return from the function what is to be shown or saved (`has_aux=True`), or show `x.numpy()` on a tape; what "
    "computes with it wants functions of NumPy, or a tapec.custom_gradient"
)
_ATTRIBUTES = {  # of other libraries
    "append": "np.append(x, value) makes another one",
    "assign": "tapec.Variable has it",
    "backward": "tapec.grad(f)(x), or tape.gradient(loss, x)",
    "detach": "tapec.stop_gradient(x)",
    "grad": "tapec.grad(f)(x), or tape.gradient(loss, x), returns the gradient",
    "requires_grad": "tape.watch(x), or an argument of the function that tapec.grad gets",
    "requires_grad_": "tape.watch(x), or an argument of the function that tapec.grad gets",
}


def without_attribute(name: str) -> str:
    """Return the message for an attribute that tensors do not have."""
    fix = f". Fix: {_ATTRIBUTES[name]}" if name in _ATTRIBUTES else ""
    return f"'Tensor' object has no attribute {name!r}{fix}"


_NEW = "np.zeros_like(x) or np.zeros(n, like=x), with x a recorded tensor"
_ITSELF = "use the tensor itself (np.squeeze(x), if x has axes): it computes and compares as a number does"
_FIXES = {  # by what was asked for: how to call it, and what to do instead
    "out": (
        "writing into a plain NumPy array",
        f"give a tensor as `out`, such as {_NEW}; or `a = a + x` in place of `a += x`",
    ),
    "size": (
        "an object array of so many elements",
        "np.stack, np.concatenate and NumPy's other functions take tensors as they are",
    ),
    "array": (
        "a plain NumPy array",
        "np.stack([...]) makes one tensor of a list of tensors and numbers; methods and operators of plain arrays do "
        "not take tensors in lists, NumPy's functions do",
    ),
    "truth": ("a truth value of objects", "np.stack([...]) makes one tensor of a list of tensors"),
    "numpy": (".numpy()", "return from the function what is to be seen outside"),
    "item": (".item()", _ITSELF),
    "float": ("float()", f"{_ITSELF}; `if x > 0` and `int(x)` may look at it"),
    "complex": ("complex()", "use the tensor itself, it computes as a number does; np.real and np.imag give its parts"),
}


def _explain(site: Site, asked: str, dtype: Any) -> tuple[str, str]:
    """Return what the line does, and the fix for it."""
    function, name = site.function, site.name
    if site.kind == "store":
        return (
            "storing into a plain NumPy array",
            f"make that array a tensor: {_NEW}; or collect the parts and np.stack them",
        )
    if site.kind == "format" or _package_of(function) == "logging":
        return "formatting by %", 'f"{x:.3f}" writes a tensor of one element, and "%s" any tensor'
    counterpart = math_fix(function)
    if counterpart is not None:
        told = f" ({install_hint('scipy')})" if "scipy." in counterpart and is_missing("scipy") else ""
        return f"{name}()", f"{counterpart}{told} works on tensors and on numbers"
    if isinstance(function, type) and issubclass(function, np.generic):
        return f"{name}()", f"`x.astype({name})`"
    owner = getattr(function, "__self__", None)
    if _is_generator(owner) or "random" in name:
        return f"{name}()", "draw standard numbers, then shift and scale them: `mean + std * rng.standard_normal(n)`"
    if isinstance(function, np.vectorize) or name.startswith("np.vectorize("):
        return f"{name}()", "leave its `otypes` out"
    if name.endswith(".astype"):
        return f"{name}()", "leave it out, an array of tensors is one tensor when it is used; or np.stack them first"
    if asked == "float" and (isinstance(owner, np.ndarray) or name.endswith((".fill", ".at"))):
        return f"{name}()", f"make the array a tensor: {_NEW}"
    if name.rpartition(".")[2] in _OF_MEAN:
        return f"{name}()", "np.stack([...]) makes one tensor of a list of tensors; take the mean of that"
    if dtype is not None:
        cast = f".astype(np.{np.dtype(dtype).name})"
        fix = f"`x{cast}` casts a tensor, `np.stack([...]){cast}` makes one of a list of tensors"
        return f"{name}()" if name else "an array of forced dtype", fix
    what, fix = _FIXES[asked]
    if getattr(function, "__wrapped__", function) is np.arange:  # a traced function finds our stand-in
        fix = "`start + step * np.arange(n)` with an int n, or np.linspace; data may be named in static_argnames"
    elif function is np.nditer:
        fix = f"index the tensor, or loop over np.ravel(x): {_IN_C}"
    elif asked == "float" and _package_of(function) == "numpy":
        fix = "np.stack([...]) makes one tensor of a list of tensors"
    return f"{name}()" if name and asked != "out" else what, fix


_OF_MEAN = {"mean", "var", "std", "average", "median"}  # these divide with a dtype that is forced
_IN_C = "np.nditer loops in C, which records nothing"
_OF_OBJECTS = (
    "dtype('O')",
    "loop of ufunc",
    "for the input types",
    "object",
    "ObjectDType",
    "proper array of floats",
    "No matching signature found",  # Cython's
    "Unsupported array type",  # scipy.ndimage's
)
_OF_ANYTHING = ("' object ", "object of type '")  # Python's own: 'int' object is not iterable


def _is_about_objects(error: BaseException) -> bool:
    """Return whether an error complains of an object array, or of tensors among plain numbers."""
    detached = isinstance(error, DetachError) or isinstance(error.__cause__, DetachError)
    return detached or any([word in str(error) for word in _OF_OBJECTS])


def _scipy_message(error: BaseException) -> str:
    """Return the message for a function of SciPy, in Python or compiled, that took recorded tensors apart; or
    nothing."""
    user: Any = None
    at: Any = error.__traceback__
    while at is not None and not scipy_package(at.tb_frame.f_code.co_filename):
        user, at = at, at.tb_next
    if at is None:
        return ""
    code = at.tb_frame.f_code
    if user is None or not is_user_file(user.tb_frame.f_code.co_filename):  # it is itself what is differentiated
        return at_user_line(_taken_apart(scipy_package(code.co_filename), code.co_name, code.co_name))
    site = site_at(user.tb_frame, user.tb_lasti)
    package, full_name = _package(site.function, code.co_filename), site.name
    called = at.tb_frame.f_locals.get("self")
    frozen = getattr(getattr(called, "dist", None), "name", "")  # norm, of norm(loc, scale)
    for other in (type(called).__name__, f"{frozen}.{code.co_name}"):
        if not _counterpart(package, full_name) and _counterpart(package, other):
            full_name = other
    name = full_name.rpartition(".")[2] or code.co_name
    line = place_name(user.tb_frame.f_code.co_filename, user.tb_lineno)
    return f"{line}: {_taken_apart(package, name, full_name)}"


def _taken_apart(package: str, name: str, full_name: str) -> str:
    ours = _counterpart(package, full_name)
    fix = f"tapec.scipy.{package}.{ours} takes tensors" if ours else _elsewhere(package, name)
    return f"scipy.{package}'s {name} takes a recorded tensor apart and loses its gradient. Fix: {fix}."


_ELSEWHERE = {  # what does it, of SciPy's functions that nothing in tapec.scipy stands for
    "minimize": "tapec.custom_root, with the gradient that is zero there, differentiates solutions",
    "minimize_scalar": "tapec.custom_root, with the slope that is zero there, differentiates solutions",
    "quad": "np.sum(weights * f(points)) takes tensors, with those of np.polynomial.legendre.leggauss",
}


def _elsewhere(package: str, name: str) -> str:
    if package == "optimize" and name not in _ELSEWHERE:
        return "tapec.custom_root differentiates solutions, whatever finds them"
    return _ELSEWHERE.get(name, "give it a tapec.custom_gradient, or plain numbers")


def _package(function: Any, filename: str) -> str:
    """Return where a function is at home, `special`, `linalg`, `spatial.distance`, ..., or else its file."""
    module = (getattr(function, "__module__", None) or "").split(".")
    if module[0] == "scipy" and len(module) > 1:
        return ".".join(itertools.takewhile(lambda part: not part.startswith("_"), module[1:]))
    return scipy_package(filename)


def _counterpart(package: str, name: str) -> str:
    """The name in tapec.scipy's module of a function, or of a method of a distribution; empty when there is none."""
    try:
        module = import_module(f"tapec.scipy.{package}")
    except ImportError:
        return ""
    owner, _, last = name.rpartition(".")
    if last in module.__all__:
        return last
    owner = owner.rpartition(".")[2]
    return f"{owner}.{last}" if owner in module.__all__ and last in dir(getattr(module, owner)) else ""


def _line_of(error: BaseException) -> str:
    """Return the innermost line of the user's script that an error has passed."""
    found, at = "", error.__traceback__
    while at is not None:
        name = at.tb_frame.f_code.co_filename
        if not is_installed(name):
            found = place_name(name, at.tb_lineno)
        at = at.tb_next
    return found


def surface(error: BaseException) -> None:
    """Raise what an error that leaves a recording is about, where NumPy has hidden it.

    `arr[0] = t` ends in a ValueError whatever `t.__float__` raises, `np.add.at(arr, places, [t, u])` in a SystemError;
    and there is much that NumPy cannot compute with object arrays.
    """
    plain_arguments(error)
    if _is_about_objects(error):
        message = _scipy_message(error)
        if message:
            raise UnsupportedError(message) from error
    cause: Any = error
    while isinstance(cause, (ValueError, SystemError)):  # the latter where NumPy goes on to the next tensor
        cause = cause.__cause__
    if isinstance(cause, DetachError) and cause is not error:
        raise cause.with_traceback(error.__traceback__) from None
    if type(error).__module__.startswith("numba."):
        error.add_note(
            "A function that numba compiles takes no recorded tensors. "
            "Fix: call the function without numba (`f.py_func`), or give it a tapec.custom_gradient."
        )
    if "Tensor is not JSON serializable" in str(error):
        error.add_note(
            f"at {_line_of(error)}: json takes plain numbers. Fix: return it from the function (`has_aux=True`)."
        )
    if isinstance(error, KeyError) and "are in the [" in str(error):
        error.add_note(f"at {_line_of(error)}: pandas takes a tensor for labels. Fix: df[np.asarray(mask)].")
    if "'Tensor'" in str(error) and "bytes-like object" in str(error):
        fix = "compute what it gives outside of the function, or give it a tapec.custom_gradient"
        error.add_note(f"at {_line_of(error)}: compiled code takes plain arrays alone. Fix: {fix}.")
    if "REFS_OK" in str(error):
        error.add_note(f"{_IN_C}. Fix: index the tensor, or loop over np.ravel(x).")
    known = any([words in str(error) for words in _OF_ANYTHING])
    if isinstance(error, (TypeError, AttributeError)) and _is_about_objects(error) and not known:
        error.add_note(
            "If this is an object array that np.array made of recorded tensors: np.stack([...]) makes one tensor, "
            "and so does np.array([...], like=x) with x among them. If a function of SciPy made it: "
            "tapec.scipy.special.softmax and others of tapec.scipy take tensors."
        )
