"""How to mend a line at which a tensor would lose its gradient."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapec.errors import DetachError, at_user_line
from tapec.trace.callsite import Site, call_site

__all__ = ["detach_error", "detaches", "math_mend"]

_NAMES = {  # where NumPy's or SciPy's name is not that of `math`
    "fabs": "np.abs",
    "fsum": "np.sum",
    "prod": "np.prod",
    "dist": "np.linalg.norm(a - b)",
    "erf": "scipy.special.erf",
    "erfc": "scipy.special.erfc",
    "gamma": "scipy.special.gamma",
    "lgamma": "scipy.special.gammaln",
    "perm": "scipy.special.perm",
    "comb": "scipy.special.comb",
    "phase": "np.angle",
}
_QUESTIONS = {"isnan", "isinf", "isfinite", "isclose", "floor", "ceil", "trunc"}  # these carry no gradient


def math_mend(function: Any) -> str | None:
    """NumPy's counterpart of a function of `math` or `cmath`."""
    if getattr(function, "__module__", None) not in ("math", "cmath"):
        return None
    name = function.__name__
    if name in _NAMES:
        return _NAMES[name]
    return f"np.{name}" if hasattr(np, name) else None


def detaches() -> bool:
    """On a tape: does the line lose the gradient unsaid? `float(t)` says itself that it leaves the recording."""
    site = call_site()
    if site.kind == "store":
        return True
    function = site.function
    if site.kind != "call" or function is None:
        return False
    if getattr(function, "__module__", None) in ("math", "cmath"):
        return function.__name__ not in _QUESTIONS
    owner = getattr(function, "__self__", None)
    if isinstance(owner, (np.ndarray, np.random.Generator, np.random.RandomState)):
        return True
    return _is_numpy(function)


def _is_numpy(function: Any) -> bool:
    return (getattr(function, "__module__", None) or "").partition(".")[0] == "numpy"


def detach_error(tensor: Any, asked: str, dtype: Any = None) -> DetachError:
    """The error for this line; `asked` says what Python or NumPy wanted: "float", "array", ..."""
    site = call_site()
    what, mend = _explain(site, asked, dtype, tensor)
    kind = f"a recorded tensor of shape {tensor.shape}" if tensor.shape else "a recorded tensor"
    return DetachError(at_user_line(f"{what} would turn {kind} into plain numbers, and its gradient would be lost. Mend: {mend}"))


def _explain(site: Site, asked: str, dtype: Any, tensor: Any) -> tuple[str, str]:
    function, name = site.function, site.name
    if site.kind == "store":
        return "storing into a plain NumPy array", (
            "make the array a tensor, `np.zeros_like(x)` or `np.zeros(n, like=x)` with x recorded, and then store into it; "
            "or collect the parts in a list and np.stack them"
        )
    counterpart = math_mend(function)
    if counterpart is not None:
        return f"{name}()", f"{counterpart}, which works on tensors and numbers alike"
    if isinstance(function, type) and issubclass(function, np.generic):
        return f"{name}()", f"`.astype({name})`"
    owner = getattr(function, "__self__", None)
    if isinstance(owner, (np.random.Generator, np.random.RandomState)) or name.startswith(("np.random", "numpy.random")):
        return f"{name}()", (
            "draw standard numbers and shift and scale them: `mean + std * rng.standard_normal(n)`; "
            "or tapec.stop_gradient(x) when no gradient is meant to flow into the parameters"
        )
    if isinstance(owner, np.ndarray) and getattr(function, "__name__", "") in ("fill", "put", "itemset"):
        return f"{name}()", "make the array a tensor first: `np.zeros_like(x)` or `np.zeros(n, like=x)` with x recorded"
    return f"{name}()" if name else _wanted(asked, dtype), _general(asked, dtype, tensor, function)


def _wanted(asked: str, dtype: Any) -> str:
    if asked == "out":
        return "writing into a plain NumPy array"
    return f"an array of dtype {dtype}" if dtype is not None else f"a plain {asked}"


def _general(asked: str, dtype: Any, tensor: Any, function: Any) -> str:
    if asked == "out":
        return "`out=` a tensor, such as np.zeros_like(x) with x recorded; or `arr = arr + x` in place of `arr += x`"
    if asked == "size":
        return "np.stack, np.concatenate and the other functions of NumPy take tensors as they are"
    if asked == "array" and dtype is not None:
        cast = f"`.astype(np.{np.dtype(dtype).name})`"
        return f"{cast} on the tensor; for a list of tensors np.stack([...]), then {cast}"
    if asked in ("float", "complex", "item", "numpy"):
        return (
            "use the tensor itself, it computes and compares as a number does; `if x > 0` and `int(x)` may look at values. "
            "Return from the function what is to be seen outside"
        )
    return "np.stack for lists of tensors, NumPy's own functions for arrays"
