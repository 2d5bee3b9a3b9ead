"""tapec turns NumPy code into the NumPy code of its gradient."""

from typing import Any

from tapec.api.transforms import compile, grad, value_and_grad
from tapec.api.tape import GradientTape, UnconnectedGradients
from tapec.api.variable import Variable
from tapec.config import settings
from tapec.trace.tensor import Tensor

__version__ = "0.1.0"


def constant(value: Any, dtype: Any = None) -> Tensor:
    """A tensor with this value."""
    return Tensor(value, dtype)


convert_to_tensor = constant

__all__ = ["GradientTape", "Tensor", "UnconnectedGradients", "Variable", "constant", "convert_to_tensor", "compile", "grad", "value_and_grad", "settings"]
