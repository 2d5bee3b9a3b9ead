"""Derivatives beyond the gradient: one place to import them from."""

from tapec.api.batching import per_example_grad, vmap
from tapec.api.custom_jvp import custom_jvp
from tapec.api.directions import ggn_vp, hvp, jvp, linearize
from tapec.api.jacobians import hessian, jacfwd, jacobian, jacrev

__all__ = [
    "custom_jvp",
    "ggn_vp",
    "hessian",
    "hvp",
    "jacfwd",
    "jacobian",
    "jacrev",
    "jvp",
    "linearize",
    "per_example_grad",
    "vmap",
]
