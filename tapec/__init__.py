"""tapec turns NumPy code into the NumPy code of its gradient.

    import numpy as np
    import tapec

    @tapec.value_and_grad
    def loss(w, x, y):
        return np.mean((np.tanh(x @ w) - y) ** 2)

    value, gradient = loss(w, x, y)
    print(loss.source(w, x, y))        # the NumPy code that computed them

Tensors, ops and the compiler are imported at once; whatever else a name, or a program, needs when it is first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from tapec.runtime.gc_pause import resting_collector

__version__ = "0.1.0"

_PUBLIC = {
    "tapec.api.batching": ("per_example_grad", "vmap"),
    "tapec.api.check": ("check_grads",),
    "tapec.api.checkpoint": ("checkpoint",),
    "tapec.api.constants": ("constant", "convert_to_tensor", "empty", "full", "ones", "zeros"),
    "tapec.api.custom": ("custom_gradient",),
    "tapec.api.custom_jvp": ("custom_jvp",),
    "tapec.api.directions": ("ggn_vp", "hvp", "jvp", "linearize"),
    "tapec.api.jacobians": ("hessian", "jacfwd", "jacobian", "jacrev"),
    "tapec.api.structures": ("cache_clear", "cache_info"),
    "tapec.api.implicit": ("custom_linear_solve", "custom_root", "fixed_point"),
    "tapec.api.pullback": ("vjp",),
    "tapec.api.slices": ("IndexedSlices",),
    "tapec.api.sparse": ("sparsity",),
    "tapec.api.tape": ("GradientTape", "UnconnectedGradients"),
    "tapec.api.transforms": ("compile", "grad", "value_and_grad"),
    "tapec.api.variable": ("Variable",),
    "tapec.config": ("settings",),
    "tapec.errors": (
        "DetachError",
        "GradientCheckError",
        "GraphError",
        "InPlaceError",
        "NonFiniteError",
        "ParseError",
        "TapeError",
        "TapeTypeError",
        "TapeValueError",
        "TapecError",
        "TapecWarning",
        "UnsupportedError",
        "VerifyError",
    ),
    "tapec.api.stopping": ("stop_gradient",),
    "tapec.trace.tensor": ("Tensor",),
}
_HOME = {name: module for module, names in _PUBLIC.items() for name in names}
_MODULES = (
    *("api", "autodiff", "codegen", "compat", "config", "errors", "ir"),
    *("ops", "passes", "report", "scipy", "testing", "trace"),
)

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    home = _HOME.get(name)
    if home is not None:
        with resting_collector():  # which would only walk through what is being imported
            value = globals()[name] = getattr(import_module(home), name)
        return value
    if name in _MODULES:
        return import_module(f"tapec.{name}")
    raise AttributeError(f"module 'tapec' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, *_MODULES, *[name for name in globals() if name.startswith("__")]])


if TYPE_CHECKING:  # `as` says that a name is public here
    from tapec import (
        api as api,
        autodiff as autodiff,
        codegen as codegen,
        compat as compat,
        config as config,
        errors as errors,
        ir as ir,
        ops as ops,
        passes as passes,
        report as report,
        scipy as scipy,
        testing as testing,
        trace as trace,
    )
    from tapec.api.batching import (
        per_example_grad as per_example_grad,
        vmap as vmap,
    )
    from tapec.api.check import check_grads as check_grads
    from tapec.api.checkpoint import checkpoint as checkpoint
    from tapec.api.constants import (
        constant as constant,
        convert_to_tensor as convert_to_tensor,
        empty as empty,
        full as full,
        ones as ones,
        zeros as zeros,
    )
    from tapec.api.custom import custom_gradient as custom_gradient
    from tapec.api.custom_jvp import custom_jvp as custom_jvp
    from tapec.api.directions import (
        ggn_vp as ggn_vp,
        hvp as hvp,
        jvp as jvp,
        linearize as linearize,
    )
    from tapec.api.implicit import (
        custom_linear_solve as custom_linear_solve,
        custom_root as custom_root,
        fixed_point as fixed_point,
    )
    from tapec.api.jacobians import (
        hessian as hessian,
        jacfwd as jacfwd,
        jacobian as jacobian,
        jacrev as jacrev,
    )
    from tapec.api.pullback import vjp as vjp
    from tapec.api.slices import IndexedSlices as IndexedSlices
    from tapec.api.sparse import sparsity as sparsity
    from tapec.api.stopping import stop_gradient as stop_gradient
    from tapec.api.structures import (
        cache_clear as cache_clear,
        cache_info as cache_info,
    )
    from tapec.api.tape import (
        GradientTape as GradientTape,
        UnconnectedGradients as UnconnectedGradients,
    )
    from tapec.api.transforms import (
        compile as compile,
        grad as grad,
        value_and_grad as value_and_grad,
    )
    from tapec.api.variable import Variable as Variable
    from tapec.config import settings as settings
    from tapec.errors import (
        DetachError as DetachError,
        GradientCheckError as GradientCheckError,
        GraphError as GraphError,
        InPlaceError as InPlaceError,
        NonFiniteError as NonFiniteError,
        ParseError as ParseError,
        TapecError as TapecError,
        TapecWarning as TapecWarning,
        TapeError as TapeError,
        TapeTypeError as TapeTypeError,
        TapeValueError as TapeValueError,
        UnsupportedError as UnsupportedError,
        VerifyError as VerifyError,
    )
    from tapec.trace.tensor import Tensor as Tensor

with resting_collector():  # what every gradient needs
    import_module("tapec.trace.tensor")
    import_module("tapec.autodiff.reverse")
    import_module("tapec.runtime.compile")
