"""Define `checkpoint`, which trades time for memory in a gradient."""

from __future__ import annotations

from typing import Any

from tapec.api.compiled.transform import Transform
from tapec.api.compiled.typed_wrappers import gives_the_same
from tapec.api.transforms.compile_and_grad import compiled
from tapec.autodiff.bodies.recomputation import CHECKPOINT

__all__ = ["checkpoint"]


@gives_the_same
def checkpoint(function: Any = None, *, static_argnums: Any = (), static_argnames: Any = ()) -> Any:
    """Turn a function into one whose gradient keeps only the arguments, and computes the rest again.

    The gradient takes less memory and more time.

    Parameters
    ----------
    function : callable, default None
        The function. Without one, `checkpoint(...)` gives a decorator that has these options.
    static_argnums : int or tuple of int, default ()
        Positions of static arguments: code is generated for each value of theirs anew, and they have no gradient.
    static_argnames : str or tuple of str, default ()
        Names of static arguments.

    Returns
    -------
    compiled function
        It takes and returns what the function does.

    Raises
    ------
    ValueError
        If no argument has one of the static names or positions.

    Examples
    --------
    >>> import numpy as np, tapec
    >>> block = tapec.checkpoint(lambda x: np.tanh(np.sin(x)))
    >>> tapec.grad(lambda x: np.sum(block(block(x))))(np.zeros(2))
    array([1., 1.])

    See Also
    --------
    tapec.compile : generated code, whose gradient keeps what it needs
    """
    return compiled(function, Transform(), static_argnums, static_argnames, CHECKPOINT)
