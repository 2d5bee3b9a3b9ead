"""Define `IndexedSlices`: the gradient of a gather along axis 0, by the rows that were gathered."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapec.errors import TapeValueError
from tapec.ir.static_index import Slot
from tapec.ops import ArrayLike
from tapec.ops.core.stand_in import apply
from tapec.ops.indexing.getitem_and_scatter import SCATTER
from tapec.trace.tensor import Tensor

__all__ = ["IndexedSlices", "concatenated"]


class IndexedSlices(ArrayLike):
    """Holds rows of an array that is zero elsewhere: the gradient of a gather, without the zeros.

    `values[k]` belongs at `indices[k]` of an array of shape `dense_shape`; equal indices add up. It computes like the
    dense array that it stands for. Scaling keeps it sparse, and so does adding two of them.

    Parameters
    ----------
    values : array or Tensor
        The rows, along the first axis.
    indices : array or Tensor of integers
        The place of each row.
    dense_shape : tuple of int, default None
        The shape of the whole array.

    Attributes
    ----------
    values : Tensor
        The rows.
    indices : Tensor
        The place of each row.
    dense_shape : tuple of int or None
        The shape of the whole array.

    Examples
    --------
    >>> import numpy as np, tapec
    >>> table = tapec.Variable([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    >>> with tapec.GradientTape() as tape:
    ...     loss = np.sum(np.take(table, [2, 0, 2], axis=0))
    >>> rows = tape.gradient(loss, table)
    >>> rows.indices
    tapec.Tensor([2, 0, 2], shape=(3,), dtype=int64)
    >>> np.asarray(rows)
    array([[1., 1.],
           [0., 0.],
           [2., 2.]])

    See Also
    --------
    tapec.GradientTape.gradient : returns it
    tapec.Variable.assign_sub : takes it
    """

    __slots__ = ("__weakref__", "_dense", "dense_shape", "indices", "values")
    _rank = 3

    values: Tensor
    indices: Tensor
    dense_shape: tuple[int, ...] | None

    def __init__(self, values: Any, indices: Any, dense_shape: Any = None):
        self.values = values if type(values) is Tensor else Tensor(values)
        self.indices = indices if type(indices) is Tensor else Tensor(indices)
        self.dense_shape = None if dense_shape is None else tuple([int(n) for n in dense_shape])
        self._dense: Tensor | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        if self.dense_shape is None:
            raise TapeValueError("these IndexedSlices have no dense_shape. Fix: give it when they are made")
        return self.dense_shape

    @property
    def dtype(self) -> np.dtype:
        return self.values.dtype

    @property
    def _value(self) -> Any:
        return self._tapec_read()._value

    def numpy(self) -> Any:
        """Return the dense array.

        Returns
        -------
        numpy.ndarray
            The rows in their places, and zeros elsewhere.

        Raises
        ------
        TapeValueError
            If there is no `dense_shape`.

        Examples
        --------
        >>> import tapec
        >>> tapec.IndexedSlices([[1.0], [2.0]], [2, 0], (3, 1)).numpy()
        array([[2.],
               [0.],
               [1.]])
        """
        return self._tapec_read().numpy()

    # -- computing ----------------------------------------------------------------------------------------------
    def _tapec_read(self) -> Tensor:
        """The dense tensor; made when first needed."""
        if self._dense is None:
            self._dense = self._spread()
        return self._dense

    def _spread(self) -> Tensor:
        """The dense tensor, made by whatever records now."""
        return apply(SCATTER, (self.values, self.indices), (("shape", self.shape), ("index", (Slot(0),))))

    def _apply(self, op: Any, inputs: tuple[Any, ...], params: tuple[tuple[str, Any], ...]) -> Any:
        return apply(op, tuple([x._tapec_read() if isinstance(x, IndexedSlices) else x for x in inputs]), params)

    def _with(self, values: Any) -> IndexedSlices:
        return IndexedSlices(values, self.indices, self.dense_shape)

    def __neg__(self) -> IndexedSlices:
        return self._with(np.negative(self.values))

    def __mul__(self, other: Any) -> Any:
        return self._with(self.values * other) if _is_scalar(other) else self._tapec_read() * other

    def __rmul__(self, other: Any) -> Any:
        return self._with(other * self.values) if _is_scalar(other) else other * self._tapec_read()

    def __truediv__(self, other: Any) -> Any:
        return self._with(self.values / other) if _is_scalar(other) else self._tapec_read() / other

    def __add__(self, other: Any) -> Any:
        if isinstance(other, IndexedSlices):
            return concatenated([self, other])
        return self._tapec_read() + other

    # -- as an array --------------------------------------------------------------------------------------------
    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return self._tapec_read().__array__(dtype, copy)

    def __repr__(self) -> str:
        return f"tapec.IndexedSlices(indices={self.indices!r}, values={self.values!r}, dense_shape={self.dense_shape})"


def _is_scalar(x: Any) -> bool:
    return isinstance(x, (int, float, complex, np.generic)) or (isinstance(x, (Tensor, np.ndarray)) and not x.shape)


def concatenated(parts: list[IndexedSlices]) -> IndexedSlices:
    """Join several gathers from one source: all their rows, one behind the other."""
    if len(parts) == 1:
        return parts[0]
    if any(p.dense_shape != parts[0].dense_shape for p in parts):
        raise TapeValueError(f"IndexedSlices of different shapes: {[p.dense_shape for p in parts]}")
    values = np.concatenate([p.values for p in parts])
    return IndexedSlices(values, np.concatenate([p.indices for p in parts]), parts[0].dense_shape)
