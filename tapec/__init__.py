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
    "tapec.api.transforms.vmap": ("per_example_grad", "vmap"),
    "tapec.api.transforms.check_grads": ("check_grads",),
    "tapec.api.custom.checkpoint": ("checkpoint",),
    "tapec.values.constants": ("constant", "convert_to_tensor", "empty", "full", "ones", "zeros"),
    "tapec.api.custom.control_flow": ("cond", "fori_loop", "scan", "while_loop"),
    "tapec.api.custom.custom_gradient": ("custom_gradient",),
    "tapec.api.custom.custom_jvp": ("custom_jvp",),
    "tapec.api.transforms.directional": ("ggn_vp", "hvp", "jvp", "linearize"),
    "tapec.api.transforms.jacobians": ("hessian", "jacfwd", "jacobian", "jacrev"),
    "tapec.log_gradients.structure_cache": ("cache_clear", "cache_info"),
    "tapec.api.custom.implicit_solutions": ("custom_linear_solve", "custom_root", "fixed_point"),
    "tapec.api.transforms.vjp": ("vjp",),
    "tapec.values.indexed_slices": ("IndexedSlices",),
    "tapec.api.transforms.sparse_jacobians": ("sparsity",),
    "tapec.api.tape.gradient_tape": ("GradientTape", "UnconnectedGradients"),
    "tapec.api.transforms.compile_and_grad": ("compile", "grad", "value_and_grad"),
    "tapec.values.variable": ("Variable",),
    "tapec.config": ("settings",),
    "tapec.errors": (
        "DetachError",
        "GradientCheckError",
        "GraphError",
        "InPlaceError",
        "MismatchError",
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
    "tapec.values.stop_gradient": ("stop_gradient",),
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
        with resting_collector():
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
    from tapec.api.transforms.vmap import (
        per_example_grad as per_example_grad,
        vmap as vmap,
    )
    from tapec.api.transforms.check_grads import check_grads as check_grads
    from tapec.api.custom.checkpoint import checkpoint as checkpoint
    from tapec.values.constants import (
        constant as constant,
        convert_to_tensor as convert_to_tensor,
        empty as empty,
        full as full,
        ones as ones,
        zeros as zeros,
    )
    from tapec.api.custom.control_flow import (
        cond as cond,
        fori_loop as fori_loop,
        scan as scan,
        while_loop as while_loop,
    )
    from tapec.api.custom.custom_gradient import custom_gradient as custom_gradient
    from tapec.api.custom.custom_jvp import custom_jvp as custom_jvp
    from tapec.api.transforms.directional import (
        ggn_vp as ggn_vp,
        hvp as hvp,
        jvp as jvp,
        linearize as linearize,
    )
    from tapec.api.custom.implicit_solutions import (
        custom_linear_solve as custom_linear_solve,
        custom_root as custom_root,
        fixed_point as fixed_point,
    )
    from tapec.api.transforms.jacobians import (
        hessian as hessian,
        jacfwd as jacfwd,
        jacobian as jacobian,
        jacrev as jacrev,
    )
    from tapec.api.transforms.vjp import vjp as vjp
    from tapec.values.indexed_slices import IndexedSlices as IndexedSlices
    from tapec.api.transforms.sparse_jacobians import sparsity as sparsity
    from tapec.values.stop_gradient import stop_gradient as stop_gradient
    from tapec.log_gradients.structure_cache import (
        cache_clear as cache_clear,
        cache_info as cache_info,
    )
    from tapec.api.tape.gradient_tape import (
        GradientTape as GradientTape,
        UnconnectedGradients as UnconnectedGradients,
    )
    from tapec.api.transforms.compile_and_grad import (
        compile as compile,
        grad as grad,
        value_and_grad as value_and_grad,
    )
    from tapec.values.variable import Variable as Variable
    from tapec.config import settings as settings
    from tapec.errors import (
        DetachError as DetachError,
        GradientCheckError as GradientCheckError,
        GraphError as GraphError,
        InPlaceError as InPlaceError,
        MismatchError as MismatchError,
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
    import_module("tapec.lazy")
