"""Give `tf.GradientTape` and the functions that go with it."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from tapec.api.custom.custom_gradient import custom_gradient as plain_custom_gradient
from tapec.api.tape.gradient_tape import GradientTape as PlainTape
from tapec.api.tape.tape_arguments import UnconnectedGradients
from tapec.compat.tensorflow.plain_values import refuse_options
from tapec.compat.tensorflow.tf_tensor import Face, Tensor, Variable, constant, face, faces, plain, renewed
from tapec.ops.control.custom_gradients import stop_gradient as plain_stop_gradient

__all__ = [
    "GradientTape",
    "UnconnectedGradients",
    "convert_to_tensor",
    "custom_gradient",
    "function",
    "identity",
    "stop_gradient",
]


class GradientTape(PlainTape):
    """`tf.GradientTape`."""

    def watch(self, tensor: Any) -> None:
        super().watch(plain(tensor))

    def gradient(
        self,
        target: Any,
        sources: Any,
        output_gradients: Any = None,
        unconnected_gradients: Any = UnconnectedGradients.NONE,
    ) -> Any:
        return faces(super().gradient(plain(target), plain(sources), plain(output_gradients), unconnected_gradients))

    def jacobian(
        self,
        target: Any,
        sources: Any,
        unconnected_gradients: Any = UnconnectedGradients.NONE,
        parallel_iterations: int | None = None,
        experimental_use_pfor: bool = True,
    ) -> Any:
        how = unconnected_gradients, parallel_iterations, experimental_use_pfor
        return faces(super().jacobian(plain(target), plain(sources), *how))

    def batch_jacobian(
        self,
        target: Any,
        source: Any,
        unconnected_gradients: Any = UnconnectedGradients.NONE,
        parallel_iterations: int | None = None,
        experimental_use_pfor: bool = True,
    ) -> Any:
        how = unconnected_gradients, parallel_iterations, experimental_use_pfor
        return faces(super().batch_jacobian(plain(target), plain(source), *how))

    def watched_variables(self) -> tuple[Any, ...]:
        return tuple([face(v) for v in super().watched_variables()])

    def source(self, target: Any, sources: Any, lines: bool = False) -> str:
        return super().source(plain(target), plain(sources), lines)

    def ir(self, target: Any, sources: Any, stage: str = "optimized") -> Any:
        return super().ir(plain(target), plain(sources), stage)


def custom_gradient(f: Callable[..., Any]) -> Callable[..., Any]:
    """`tf.custom_gradient`: `f` returns its result and the gradient function."""

    @functools.wraps(f)
    def inner(*args: Any, **kwargs: Any) -> Any:
        returned = f(*faces(args), **kwargs)
        if not isinstance(returned, tuple) or len(returned) != 2 or not callable(returned[1]):
            return returned  # tapec says what is wrong
        result, gradient = returned

        @functools.wraps(gradient)
        def lowered(*cts: Any, **more: Any) -> Any:
            if "variables" in more:
                more["variables"] = [face(v) for v in more["variables"]]
            return plain(gradient(*[Tensor(ct) for ct in cts], **more))

        return plain(result), lowered

    decorated = plain_custom_gradient(inner)

    @functools.wraps(f)
    def call(*args: Any, **kwargs: Any) -> Any:
        tensors = [x if isinstance(x, Variable) else constant(x) if _is_number(x) else x for x in args]
        return faces(decorated(*plain(tuple(tensors)), **kwargs))

    call._tapec_wrap_again = lambda follow: custom_gradient(follow(f))  # type: ignore[attr-defined]
    return call


def _is_number(x: Any) -> bool:
    return isinstance(x, (int, float, complex, np.ndarray, np.generic))


def stop_gradient(input: Any, name: Any = None) -> Any:
    x = constant(input)
    return face(plain_stop_gradient(x._inner))


def identity(input: Any, name: Any = None) -> Any:
    """A new tensor of the same value."""
    return renewed(constant(input))


def function(
    func: Any = None,
    input_signature: Any = None,
    autograph: bool = True,
    experimental_autograph_options: Any = None,
    experimental_relax_shapes: bool = False,
    experimental_compile: Any = None,
) -> Any:
    """`tf.function`: tapes compile what they record, so the function is left as it is."""
    refuse_options("tf.function", "tf.constant of the arguments", input_signature=input_signature)
    return (lambda f: f) if func is None else func


def convert_to_tensor(value: Any, dtype: Any = None, dtype_hint: Any = None, name: Any = None) -> Any:
    """A tensor; a Variable is read, IndexedSlices become dense."""
    if not isinstance(value, Face) and dtype is None and dtype_hint is not None:
        try:
            return constant(value, dtype_hint)
        except TypeError:
            pass
    found = constant(value, dtype)
    return renewed(found) if isinstance(value, Variable) else found
