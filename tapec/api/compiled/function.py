"""Define `CompiledFunction`: a Python function that runs as generated code, traced once for each signature and path.

What is computed from the traced program is said by a `Transform` (`transform.py`), in which alone decorators differ.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

from tapec.api.compiled import lazy
from tapec.api.compiled.inspection import Inspection
from tapec.api.compiled.method_decorators import Wrapper, bound, dress, is_class_method
from tapec.api.compiled.transform import Transform
from tapec.ir import Op
from tapec.ops.control.select_and_call import CALL
from tapec.tracebacks import shortens

__all__ = ["CompiledFunction"]


class CompiledFunction(Wrapper, Inspection):
    """A function together with the programs compiled for it. Made by the decorators.

    How calls are answered stands in `call_path.py`, what users may look at in `inspection.py`.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        transform: Transform,
        *,
        static_argnums: Any = (),
        static_argnames: Any = (),
        call_op: Op = CALL,
    ):
        if not callable(function):
            raise TypeError(f"{transform.name or 'compile'} takes a function, not {type(function).__name__}")
        dress(self, function)
        super().__init__(function, transform, static_argnums, static_argnames, call_op)
        self._bound: dict[int, CompiledFunction] = {}

    # -- methods ------------------------------------------------------------------------------------------------------
    def __get__(self, owner: Any, kind: Any = None) -> Any:
        """Bind the function as a method, compiled for each instance: the instance is captured state and no argument."""
        if owner is None:
            return self
        return bound(self, owner, self._bound, lambda: self._like(types.MethodType(self._function, owner)))

    def _call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if args and isinstance(args[0], type) and is_class_method(self, args[0]):
            return self.__get__(args[0])(*args[1:], **kwargs)
        return super()._call(args, kwargs)

    def _like(self, function: Callable[..., Any]) -> CompiledFunction:
        """The same transform of a function, with nothing compiled yet."""
        argnums, argnames = self._static
        return CompiledFunction(
            function, self._transform, static_argnums=argnums, static_argnames=argnames, call_op=self._call_op
        )

    # -- export -------------------------------------------------------------------------------------------------------
    @shortens
    def export(self, path: Any, *args: Any, target: str | None = None, **kwargs: Any) -> None:
        """Write a module that does what a call with these arguments does, and needs NumPy (and `math`) alone.

        The module has one function, with the parameters and the docstring of yours. It checks that the types of its
        arguments are those that the code was generated for. Captured state is written into it as named constants, as
        it is now. A path that was never traced is an error there.

        Parameters
        ----------
        path : str or path
            The file to write.
        *args : object
            The arguments of the call.
        target : str or None, default None
            Who writes the code: "numpy", "floats", or "portable", for a function of any library of the array API, which
            takes the library's namespace `xp` before the arguments. None is what runs.
        **kwargs : object
            Its keyword arguments.

        Raises
        ------
        TapecError
            If the function is recorded anew at each call, or no text stands for something in it.
        OSError
            If the file cannot be written.

        Examples
        --------
        >>> import os, runpy, tempfile
        >>> import numpy as np, tapec
        >>> @tapec.grad
        ... def f(x):
        ...     return np.sum(x**2)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = os.path.join(folder, "f_gradient.py")
        ...     f.export(path, np.ones(3))
        ...     runpy.run_path(path)["f_grad"](np.arange(3.0))
        array([0., 2., 4.])

        See Also
        --------
        f.source : the code alone, as text
        """
        lazy.write_module(self, path, args, kwargs, self._own_target(target, kwargs))

    def __reduce__(self) -> Any:
        """Pickle the function as generated code: what it knows now, without the user's module and without tracing."""
        return lazy.pickled(self)
