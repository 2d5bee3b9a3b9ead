"""Assert how often something compiles."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["assert_compiles"]


@contextmanager
def assert_compiles(function: Any, at_most: int) -> Iterator[None]:
    """Check that a function compiles no more often than this inside a `with` block.

    Parameters
    ----------
    function : compiled function, or the module tapec
        The function; for `tapec`, compilations for tapes are counted.
    at_most : int
        How many functions may be generated inside the block.

    Yields
    ------
    None
        Nothing.

    Raises
    ------
    AssertionError
        If more were generated. The message says why the last one was.

    Examples
    --------
    >>> import tapec
    >>> f = tapec.grad(lambda x: x * x)
    >>> with tapec.testing.assert_compiles(f, at_most=1):
    ...     f(1.0), f(2.0)
    (np.float64(2.0), np.float64(4.0))

    See Also
    --------
    f.cache_info : the counts
    """
    before = function.cache_info().compilations
    yield
    made = function.cache_info().compilations - before
    if made > at_most:
        why = getattr(function, "_why", "")
        because = f"; the last because {why}" if why else ""
        raise AssertionError(f"{made} generated functions were compiled, at most {at_most} allowed{because}")
