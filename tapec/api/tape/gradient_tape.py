"""Define `GradientTape`, with the semantics of TensorFlow r2.0."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from threading import RLock
from typing import Any, TypeVar, overload

from tapec.api.tape import lazy
from tapec.api.tape.gradient_request import tape_gradient
from tapec.api.tape.tape_arguments import (
    UnconnectedGradients,
    flat_sources,
    flat_targets,
    one_tensor,
    seeds_for,
    wants_zero,
    watched_leaves,
    zeros_of,
)
from tapec.errors import TapecError, TapeError, TapeValueError, at_user_line
from tapec.ir.text.notebook_hooks import rich
from tapec.ops.core.define import fold_objects
from tapec.trace.escape.fix_hints import surface
from tapec.trace.float_warnings import watch_warnings
from tapec.trace.log import Log
from tapec.trace.recording_stack import CURRENT, Mark, Recorder, Token, pop, push
from tapec.trace.tensor import Tensor
from tapec.tracebacks import shorten, shortens
from tapec.values.indexed_slices import IndexedSlices
from tapec.values.variable import Variable

__all__ = ["GradientTape", "UnconnectedGradients"]

Key = TypeVar("Key")

_NOTHING = Log()  # of a tape that is used up
_MARKING = RLock()  # a tensor may be watched by tapes of several threads

_USED_UP = (
    "A non-persistent GradientTape can only be used to compute one set of gradients (or jacobians). "
    "Fix: tapec.GradientTape(persistent=True), or ask for all gradients in one call"
)


class GradientTape:
    """Records operations inside a `with` block, and differentiates them.

    Trainable Variables are recorded when they are read, tensors when `watch` says so. What is computed from these is
    recorded as well.

    Parameters
    ----------
    persistent : bool, default False
        Whether the tape gives as many gradients as it is asked for. Otherwise it gives one, and lets go of what it
        holds.
    watch_accessed_variables : bool, default True
        Whether trainable Variables are watched when they are read. Otherwise they are when `watch` says so.

    Examples
    --------
    >>> import tapec
    >>> x = tapec.constant(3.0)
    >>> with tapec.GradientTape() as tape:
    ...     tape.watch(x)
    ...     y = x * x
    >>> tape.gradient(y, x)
    tapec.Tensor(6.0, shape=(), dtype=float64)

    See Also
    --------
    tapec.grad : gradients of functions, without a tape
    tapec.Variable : what tapes watch by themselves
    tapec.stop_gradient : for what must not be differentiated
    """

    is_trace = False

    def __init__(self, persistent: bool = False, watch_accessed_variables: bool = True):
        self.token = Token()
        self.log = Log()
        self._persistent = persistent
        self._auto = watch_accessed_variables
        self._entered = False  # holds a recording, which may go on
        self._recording = False
        self._used = False
        self._busy = False  # runs a user's gradient function
        self.variables: dict[int, Variable] = {}
        self.values_read: dict[int, list[Tensor]] = {}  # of each of them
        self.shown: Any = None  # what its last gradient ran

    # -- life -------------------------------------------------------------------------------------------------------
    def __enter__(self) -> GradientTape:
        try:
            if self._recording:
                raise TapeValueError(
                    at_user_line(
                        "Tape is still recording. This can happen if you try to re-enter an already-active tape. "
                        "Fix: leave its block first, or make another tape"
                    )
                )
            self._start()
        except BaseException as error:
            shorten(error)
            raise
        return self

    def __exit__(self, kind: Any = None, error: BaseException | None = None, traceback: Any = None) -> None:
        if self._recording:
            self._recording = False
            pop(self)
        if error is not None:
            try:
                surface(error)
            except BaseException as found:
                shorten(found)
                raise
            shorten(error)

    def _start(self) -> None:
        """Go on recording; a tape that was used up begins anew."""
        if self._used:
            self._forget()
        self._recording = self._entered = True
        watch_warnings()
        push(self)

    def _stop(self) -> None:
        if not self._recording:
            raise TapeValueError(at_user_line("Tape is not recording. Fix: do this inside its `with` block"))
        self._here()
        self._recording = False
        pop(self)

    def _here(self) -> None:
        """A tape that records can be asked only where it records."""
        rec = CURRENT.get()
        if rec is None or self not in rec.tapes:
            raise TapeError(
                at_user_line("this tape is recording in another thread or task. Fix: ask it there, or after its block")
            )

    def _forget(self) -> None:
        """Forget the recording, and begin anew."""
        self.token.end()
        self.token = Token()
        self.log = Log()
        self.variables = {}
        self.values_read = {}
        self._used = False

    def _use_up(self) -> None:
        """Let go of the recording. Which Variables were watched is still known."""
        self._used = True
        self.token.end()
        self.log = _NOTHING
        self.values_read = {}

    def __del__(self) -> None:
        token = getattr(self, "token", None)
        if token is not None:
            token.end()

    @shortens
    def reset(self) -> None:
        """Forget all that was recorded, and go on recording.

        Raises
        ------
        TapeValueError
            If the tape is not recording.
        TapeError
            If the tape is recording in another thread or task.

        Examples
        --------
        >>> import tapec
        >>> x = tapec.Variable(3.0)
        >>> with tapec.GradientTape() as tape:
        ...     y = x**5
        ...     tape.reset()
        ...     y = x * x
        >>> tape.gradient(y, x)
        tapec.Tensor(6.0, shape=(), dtype=float64)
        """
        self._stop()
        self._forget()
        self._start()

    @contextmanager
    def stop_recording(self) -> Iterator[None]:
        """Record nothing inside a `with` block of its own.

        Operations there are as any others; a gradient that is asked for there is not recorded.

        Yields
        ------
        None
            Nothing.

        Raises
        ------
        TapeError
            If the tape was never entered, or is used up.
        TapeValueError
            If the tape is not recording.

        Examples
        --------
        >>> import tapec
        >>> x = tapec.Variable(3.0)
        >>> with tapec.GradientTape(persistent=True) as tape:
        ...     y = x * x
        ...     with tape.stop_recording():
        ...         slope = tape.gradient(y, x)
        >>> slope
        tapec.Tensor(6.0, shape=(), dtype=float64)

        See Also
        --------
        tapec.stop_gradient : for single values
        """
        if not self._entered or self._used:
            raise TapeError(at_user_line("Trying to stop recording a tape which is not recording. Fix: enter it first"))
        self._stop()
        try:
            yield
        finally:
            self._start()

    # -- watching ---------------------------------------------------------------------------------------------------
    def watch(self, tensor: Any) -> None:
        """Make sure that operations on tensors or Variables are recorded.

        What was computed from them before is not.

        Parameters
        ----------
        tensor : Tensor, Variable, or a nested structure of these
            What to watch.

        Raises
        ------
        TapeValueError
            If there is something else among them.
        TapeError
            If the tape is used up.

        Examples
        --------
        >>> import tapec
        >>> x = tapec.constant(3.0)
        >>> with tapec.GradientTape() as tape:
        ...     tape.watch(x)
        ...     y = x * x
        >>> tape.gradient(y, x)
        tapec.Tensor(6.0, shape=(), dtype=float64)

        See Also
        --------
        tapec.GradientTape.watched_variables : which Variables are watched
        """
        if type(tensor) is Tensor and not self._used:
            self._mark(tensor)
            return
        try:
            leaves = watched_leaves(tensor)
            if self._used:
                raise TapeError(at_user_line(f"{_USED_UP}; entering it again begins a new recording"))
        except TapecError as error:
            shorten(error)
            raise
        for leaf in leaves:
            if isinstance(leaf, Variable):
                self.variables[id(leaf)] = leaf
                self.accessed(leaf, leaf._tensor)
            else:
                self._mark(leaf)

    def _mark(self, t: Tensor) -> None:
        token = self.token
        if t._mark is token:
            return
        _MARKING.acquire()  # a `with` takes twice as long
        try:
            mark = t._mark
            if mark is None:
                t._mark = token
            elif token not in mark.tokens:
                alive = [k for k in mark.tokens if k.alive]
                if alive:
                    tokens = frozenset((*alive, token))
                    rec = CURRENT.get()
                    t._mark = rec.mark if rec is not None and rec.mark.tokens == tokens else Mark(tokens)
                else:
                    t._mark = token
        finally:
            _MARKING.release()

    def accessed(self, variable: Variable, tensor: Tensor) -> None:
        """A Variable was read, with this value, while this tape records."""
        key = id(variable)
        if (self._auto and variable._trainable) or key in self.variables:
            known = self.values_read.get(key)
            if known is None:
                self.variables[key] = variable
                self.values_read[key] = [tensor]
            elif all([t is not tensor for t in known]):
                known.append(tensor)
            self._mark(tensor)

    def watched_variables(self) -> tuple[Variable, ...]:
        """Return the Variables that were watched, in the order in which they were made.

        Returns
        -------
        tuple of Variable
            Those that were read, and those that `watch` was given. They are known when the tape is used up, too.

        Examples
        --------
        >>> import tapec
        >>> v, w = tapec.Variable(2.0), tapec.Variable(3.0)
        >>> with tapec.GradientTape() as tape:
        ...     y = w * w
        >>> tape.watched_variables()
        (<tapec.Variable 'Variable:0' shape=() dtype=float64, value=3.0>,)

        See Also
        --------
        tapec.GradientTape.watch : adds to them
        """
        return tuple(sorted(self.variables.values(), key=lambda v: v._serial))

    @property
    def _state(self) -> str:
        if self._recording:
            return "records"
        return "is used up" if self._used else "can be asked" if self._entered else "was not entered"

    def __repr__(self) -> str:
        return f"<GradientTape, {self._state}: {len(self.log.records)} operations>"

    def _repr_html_(self) -> str:
        return rich("tape_html", self)

    # -- gradients --------------------------------------------------------------------------------------------------
    # `Tensor | Any`, for checkers: it may be None or IndexedSlices, too, but whoever asks mostly knows that it is not
    @overload
    def gradient(
        self,
        target: Any,
        sources: Tensor | Variable,
        output_gradients: Any = None,
        unconnected_gradients: Any = UnconnectedGradients.NONE,
    ) -> Tensor | Any: ...
    @overload
    def gradient(
        self,
        target: Any,
        sources: list[Any],
        output_gradients: Any = None,
        unconnected_gradients: Any = UnconnectedGradients.NONE,
    ) -> list[Tensor | Any]: ...
    @overload
    def gradient(
        self,
        target: Any,
        sources: tuple[Any, ...],
        output_gradients: Any = None,
        unconnected_gradients: Any = UnconnectedGradients.NONE,
    ) -> tuple[Tensor | Any, ...]: ...
    @overload
    def gradient(
        self,
        target: Any,
        sources: Mapping[Key, Any],
        output_gradients: Any = None,
        unconnected_gradients: Any = UnconnectedGradients.NONE,
    ) -> dict[Key, Tensor | Any]: ...
    @overload
    def gradient(
        self,
        target: Any,
        sources: Any,
        output_gradients: Any = None,
        unconnected_gradients: Any = UnconnectedGradients.NONE,
    ) -> Any: ...
    def gradient(
        self,
        target: Any,
        sources: Any,
        output_gradients: Any = None,
        unconnected_gradients: Any = UnconnectedGradients.NONE,
    ) -> Any:
        """Return the gradient of the target with respect to each of the sources, in the structure of the sources.

        Of several targets, and of one that is no single number, it is the gradient of the sum of all elements.

        Parameters
        ----------
        target : Tensor, Variable, or a nested structure of these
            What to differentiate.
        sources : Tensor, Variable, or a nested structure of these
            What to differentiate with respect to. A plain tensor must have been watched.
        output_gradients : array or nested structure, default None
            For each target the gradient to start from, of its shape. None is ones.
        unconnected_gradients : UnconnectedGradients or str, default UnconnectedGradients.NONE
            The gradient of a source that no path leads to: None, or zeros for "zero".

        Returns
        -------
        Tensor, IndexedSlices, None, or a structure of these
            A gradient for each source, of its shape and dtype. Where rows of a source were gathered, it is
            IndexedSlices.

        Raises
        ------
        TapeError
            If the tape is used up, was never entered, or is recording in another thread or task.
        TapeTypeError
            If a target is no tensor, or a source is neither tensor nor Variable.
        TapeValueError
            If the output gradients do not fit the targets, or `unconnected_gradients` is another word.

        Examples
        --------
        >>> import numpy as np, tapec
        >>> w, b = tapec.Variable([1.0, 2.0]), tapec.Variable(0.5)
        >>> with tapec.GradientTape() as tape:
        ...     loss = np.sum(w * w) + b
        >>> tape.gradient(loss, {"w": w, "b": b})["w"]
        tapec.Tensor([2., 4.], shape=(2,), dtype=float64)

        See Also
        --------
        tapec.GradientTape.jacobian : a derivative for each element of the target
        tapec.GradientTape.source : the code that it runs
        """
        try:
            zero = unconnected_gradients is not UnconnectedGradients.NONE and wants_zero(unconnected_gradients)
            self._ready()
            targets = [target] if type(target) is Tensor else flat_targets(target, self._fold)
            flat, rebuild = ([sources], None) if type(sources) is Tensor else flat_sources(sources)
            seeds = None if output_gradients is None else seeds_for(targets, output_gradients)
            found = self._run(tape_gradient, targets, seeds, flat)
        except BaseException as error:
            shorten(error)
            raise
        if zero:
            found = [zeros_of(s) if g is None else g for g, s in zip(found, flat)]
        return found[0] if rebuild is None else rebuild(found)

    @overload
    def jacobian(
        self,
        target: Any,
        sources: Tensor | Variable,
        unconnected_gradients: Any = UnconnectedGradients.NONE,
        parallel_iterations: int | None = None,
        experimental_use_pfor: bool = True,
    ) -> Tensor | Any: ...
    @overload
    def jacobian(
        self,
        target: Any,
        sources: list[Any],
        unconnected_gradients: Any = UnconnectedGradients.NONE,
        parallel_iterations: int | None = None,
        experimental_use_pfor: bool = True,
    ) -> list[Tensor | Any]: ...
    @overload
    def jacobian(
        self,
        target: Any,
        sources: tuple[Any, ...],
        unconnected_gradients: Any = UnconnectedGradients.NONE,
        parallel_iterations: int | None = None,
        experimental_use_pfor: bool = True,
    ) -> tuple[Tensor | Any, ...]: ...
    @overload
    def jacobian(
        self,
        target: Any,
        sources: Mapping[Key, Any],
        unconnected_gradients: Any = UnconnectedGradients.NONE,
        parallel_iterations: int | None = None,
        experimental_use_pfor: bool = True,
    ) -> dict[Key, Tensor | Any]: ...
    @overload
    def jacobian(
        self,
        target: Any,
        sources: Any,
        unconnected_gradients: Any = UnconnectedGradients.NONE,
        parallel_iterations: int | None = None,
        experimental_use_pfor: bool = True,
    ) -> Any: ...
    @shortens
    def jacobian(
        self,
        target: Any,
        sources: Any,
        unconnected_gradients: Any = UnconnectedGradients.NONE,
        parallel_iterations: int | None = None,
        experimental_use_pfor: bool = True,
    ) -> Any:
        """Return the derivative of each element of the target with respect to each of the sources.

        Parameters
        ----------
        target : Tensor or Variable
            What to differentiate.
        sources : Tensor, Variable, or a nested structure of these
            What to differentiate with respect to. A plain tensor must have been watched.
        unconnected_gradients : UnconnectedGradients or str, default UnconnectedGradients.NONE
            The Jacobian of a source that no path leads to: None, or zeros for "zero".
        parallel_iterations : int or None, default None
            How many rows to compute at a time. None is all at once.
        experimental_use_pfor : bool, default True
            Whether rows are computed together. False computes one after the other, on a persistent tape.

        Returns
        -------
        Tensor, None, or a structure of these
            A Jacobian for each source: of the shape of the target, followed by the shape of the source.

        Raises
        ------
        TapeError
            If the tape is used up, was never entered, or is not persistent where rows are computed one after the
            other.
        TapeTypeError
            If the target is no tensor, or a source is neither tensor nor Variable.
        TapeValueError
            If `parallel_iterations` is no positive number, or `unconnected_gradients` is another word.

        Examples
        --------
        >>> import tapec
        >>> x = tapec.constant([1.0, 2.0])
        >>> with tapec.GradientTape() as tape:
        ...     tape.watch(x)
        ...     y = x * x
        >>> tape.jacobian(y, x).numpy()
        array([[2., 0.],
               [0., 4.]])

        See Also
        --------
        tapec.GradientTape.batch_jacobian : for examples that do not depend on each other
        tapec.jacobian : of functions
        """
        zero = wants_zero(unconnected_gradients)
        self._ready()
        self._check_loop(experimental_use_pfor)
        target = one_tensor(target, "target", self._fold)
        flat, rebuild = flat_sources(sources)
        chunk = lazy.tape_jacobian().chunk(parallel_iterations, experimental_use_pfor)
        found = self._run(lazy.tape_jacobian().jacobian, target, flat, chunk)
        if zero:
            found = [lazy.tape_jacobian().zeros(target, s) if g is None else g for g, s in zip(found, flat)]
        return found[0] if rebuild is None else rebuild(found)

    @shortens
    def batch_jacobian(
        self,
        target: Any,
        source: Any,
        unconnected_gradients: Any = UnconnectedGradients.NONE,
        parallel_iterations: int | None = None,
        experimental_use_pfor: bool = True,
    ) -> Tensor | Any:
        """Return one Jacobian for each example of a batch, where `target[i]` depends on `source[i]` alone.

        Parameters
        ----------
        target : Tensor or Variable
            What to differentiate, with the examples along the first axis.
        source : Tensor or Variable
            What to differentiate with respect to, with as many examples along the first axis.
        unconnected_gradients : UnconnectedGradients or str, default UnconnectedGradients.NONE
            It must be one of the two, but changes nothing: where no path leads, the Jacobian is zeros.
        parallel_iterations : int or None, default None
            How many rows to compute at a time. None is all at once.
        experimental_use_pfor : bool, default True
            Whether rows are computed together. False computes one after the other, on a persistent tape.

        Returns
        -------
        Tensor
            The Jacobians, of shape `(examples, *shape of target[i], *shape of source[i])`.

        Raises
        ------
        TapeError
            If the tape is used up, was never entered, or is not persistent where rows are computed one after the
            other.
        TapeTypeError
            If target or source is no tensor.
        TapeValueError
            If target or source have fewer than two axes, or differ in the number of examples.

        Examples
        --------
        >>> import tapec
        >>> x = tapec.constant([[1.0, 2.0], [3.0, 4.0]])
        >>> with tapec.GradientTape() as tape:
        ...     tape.watch(x)
        ...     y = x * x
        >>> tape.batch_jacobian(y, x).numpy()
        array([[[2., 0.],
                [0., 4.]],
        <BLANKLINE>
               [[6., 0.],
                [0., 8.]]])

        See Also
        --------
        tapec.GradientTape.jacobian : where examples depend on each other
        """
        wants_zero(unconnected_gradients)
        self._ready()
        self._check_loop(experimental_use_pfor)
        target, source = one_tensor(target, "target", self._fold), one_tensor(source, "source", self._fold)
        lazy.tape_jacobian().check_batch(target, source)
        chunk = lazy.tape_jacobian().chunk(parallel_iterations, experimental_use_pfor)
        return self._run(lazy.tape_jacobian().batch_jacobian, target, source, chunk)

    def _fold(self, parts: Any) -> Any:
        """An array of tensors, as `np.array([a, b])` gives it, or a sparse gradient, as one tensor.

        It is recorded, even if the block is over by now.
        """
        rec = CURRENT.get()
        tapes = rec.tapes if rec is not None else ()
        before = CURRENT.set(Recorder(tapes if self in tapes or self._used else (*tapes, self)))
        try:
            return parts._spread() if isinstance(parts, IndexedSlices) else fold_objects(parts)
        finally:
            CURRENT.reset(before)

    # -- seeing it --------------------------------------------------------------------------------------------------
    @shortens
    def source(self, target: Any, sources: Any, lines: bool = False) -> str:
        """Return the generated code that `gradient(target, sources)` runs, as text.

        It does not use the tape up. A tape that is used up shows the gradient that it gave, and no other.

        Parameters
        ----------
        target : Tensor, Variable, or a nested structure of these
            What to differentiate.
        sources : Tensor, Variable, or a nested structure of these
            What to differentiate with respect to.
        lines : bool, default False
            Whether each line of yours stands beside all that computes it, not only where code begins to.

        Returns
        -------
        str
            The source of a Python function; of several, where gradient functions of yours run in between.

        Raises
        ------
        TapeError
            If the tape is used up, and this is another gradient than it gave.

        Examples
        --------
        >>> import numpy as np, tapec
        >>> w = tapec.Variable([1.0, 2.0])
        >>> with tapec.GradientTape() as tape:
        ...     loss = np.sum(w * w)
        >>> print(tape.source(loss, w))
        # numpy: 2 flop, 32 B moved, at most 16 B of memory
        def loss_grad(w):
            d_w = 2.0 * w  # ...
            return d_w,

        See Also
        --------
        tapec.GradientTape.ir : the graph
        tapec.GradientTape.gradient : runs it
        """
        return lazy.tape_inspection().source(self._inspected(target, sources), lines)

    @shortens
    def ir(self, target: Any, sources: Any, stage: str = "optimized") -> Any:
        """Return the graph behind `gradient(target, sources)`.

        Parameters
        ----------
        target : Tensor, Variable, or a nested structure of these
            What to differentiate.
        sources : Tensor, Variable, or a nested structure of these
            What to differentiate with respect to.
        stage : str, default 'optimized'
            "forward" is what was recorded, "gradient" what differentiation made of it, "optimized" what the passes
            left, "target" what code is written from: what the target's own passes made of that.

        Returns
        -------
        tapec.ir.Graph
            The graph. `str` of it is its text.

        Raises
        ------
        TapeError
            If the tape is used up, and this is another gradient than it gave.
        TapeValueError
            If the stage is another word, or the gradient consists of several graphs.

        Examples
        --------
        >>> import numpy as np, tapec
        >>> w = tapec.Variable([1.0, 2.0])
        >>> with tapec.GradientTape() as tape:
        ...     loss = np.sum(np.exp(w))
        >>> print(tape.ir(loss, w, stage="forward"))
        graph forward(%w: f64[2]) {
          %0: f64[2] = exp %w
          %1: f64[] = sum %0 {axis=(0,), keepdims=False}
          return %1
        }

        See Also
        --------
        tapec.GradientTape.source : the code
        """
        return lazy.tape_inspection().graph(self._inspected(target, sources), stage)

    def _inspected(self, target: Any, sources: Any) -> Any:
        targets, flat = flat_targets(target, self._fold), flat_sources(sources)[0]
        if not self._used:
            self._ready()
            return lazy.tape_inspection().segments_of(self, targets, flat)
        return lazy.tape_inspection().last_segments(self, targets, flat)

    # -- when it may be asked -----------------------------------------------------------------------------------------
    def _ready(self) -> None:
        """Raise TapeError unless there is a recording that may be asked now."""
        if self._busy:
            raise TapeError(
                at_user_line(
                    "this tape is asked from inside a gradient function that it runs. "
                    "Fix: compute with tensors there, or use a tape of its own"
                )
            )
        if self._used or not self._entered:
            raise TapeError(at_user_line(_USED_UP if self._used else f"{_USED_UP}; this one was never entered"))

    def _check_loop(self, vectorized: bool) -> None:
        if not vectorized and not self._persistent:
            raise TapeError(
                at_user_line(
                    "GradientTape must be created with persistent=True to compute the jacobian with eager execution "
                    "enabled and with experimental_use_pfor set to False"
                )
            )

    def _run(self, compute: Callable[..., Any], *what: Any) -> Any:
        """Compute gradients; what fails leaves the tape as it was, what succeeds uses it up."""
        recording = self._recording
        if recording:
            if self._persistent:
                self._here()
            else:
                self._stop()
        try:
            found = compute(self, *what)
        except BaseException:  # an interrupt, too, leaves the tape as it was
            if recording and not self._recording:
                self._start()
            raise
        if not self._persistent:
            self._use_up()
        return found
