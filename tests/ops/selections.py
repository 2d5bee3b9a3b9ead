"""Programs that leave elements out, as data: `v` is a function of the vector x, `M` of the matrix X.

The first element of v, and two elements of M off the diagonal, have an infinite slope or value; `m` and `K` are False
there. `LOW` programs hold where these are the smallest elements, `HIGH` ones where they are the largest.
"""

__all__ = ["HIGH", "LOW", "MATRICES", "VECTORS"]

VECTORS = """
v[1:]
v[m]
v[[1, 2, 4]]
np.take(v, [1, 3, 3])
np.where(m, v, x)
np.where(m, v, 0) + np.where(n, v * 2, 0)
np.where(m, v, 0)[::-1] * 2 + np.where(n, v, 0)
np.where(m, v, 0) * np.where(n, v, 1)
np.cumsum(np.where(m, v, 0))
np.where(m, np.cumsum(v[::-1])[::-1], 0)
np.cumsum(v[::-1])[:-1]
np.where(m, np.cumsum(np.where(m, v, 0)), 0) + np.where(n, v, 0)
np.cumprod(v[::-1])[:-1]
np.cumprod(np.where(m, v, 1))
np.prod(np.where(m, v, 1))
np.prod(v, where=m)
np.prod(v[1:])
np.diff(v)[1:]
np.diff(v, 2)[1:]
np.compress(m, v)
np.choose([1, 0, 0, 1, 0], [v, x]) + np.choose([1, 1, 0, 0, 0], [v, x])
np.select([n, m], [v * 2, v], x)
np.roll(v, 2)[3:] * np.roll(v, 1)[2:4]
np.repeat(v, 2)[2:]
np.tile(v, 2)[[1, 2, 3, 4, 6, 7, 8]]
np.stack([v, x])[:, 1:]
np.insert(v, 1, 7.0)[1:]
np.append(v, x)[1:]
np.pad(v, 2)[3:]
np.pad(v, 1, mode="reflect")[2:-1][:4]
np.mean(v, where=m)
np.std(v, where=m)
np.std(v[1:])
np.max(v, where=m, initial=-inf)
np.linalg.norm(np.where(m, v, 0))
np.linalg.norm(v[1:])
np.linalg.norm(np.where(m, v, 0), 3)
np.where(m, np.hypot(v, x), 0)
np.where(m, np.arctan2(v, x), 0)
np.where(m, np.maximum(v, x), 0)
np.where(m, np.tanh(v), 0) * v[1]
np.outer(v, w)[1:]
np.outer(v, v)[1:, 1:]
np.convolve(v, [1.0, 2.0])[2:]
np.convolve(v, [1.0, 2.0], "valid")[1:]
np.correlate(v, [1.0, 2.0])[1:]
np.gradient(v)[2:]
np.ediff1d(v)[1:]
np.einsum("i,j->ij", v, w)[1:]
np.kron(v, w)[5:]
np.diag(v)[1:, 1:]
np.tril(np.outer(np.where(m, v, 0), w))
np.fft.rfft(np.where(m, v, 0)).real
np.abs(np.fft.fft(v[1:]))
np.log(np.sum(np.exp(v), where=m))
np.nansum(np.where(m, v, nan))
np.nanstd(np.where(m, v, nan))
np.nanprod(np.where(m, v, nan))
np.nanmedian(np.where(m, v, nan))
np.nanpercentile(np.where(m, v, nan), [30, 60])
np.nancumsum(np.where(m, v, nan))
np.sort(np.where(m, v, inf))[:4]
np.median(v[1:])
np.where(m, v / np.sum(v, where=m), 0)
np.where(m, v - np.max(v[1:]), 0)
np.where(m, v, 0) / np.where(m, v + 30, 1)
np.lib.stride_tricks.sliding_window_view(v, 2)[1:]
np.broadcast_to(v, (2, 5))[:, 1:]
np.apply_along_axis(lambda r: r[1:] * 2, 0, v)
np.where(m, overwritten(v, 1, 5.0), 0)
overwritten(v, 0, 5.0)
np.where(m, 1 / np.sqrt(v + 30), 0) + np.where(n, np.sqrt(v), 0)
np.where(m[:, None] & m, (v[:, None] - v[None, :]) ** 2, 0)
np.where(m[:, None] & m, v[:, None] / (1 + x[None, :]), 0) @ w
np.linalg.norm(np.where(m[:, None], np.stack([v, x], 1), 0), axis=1)
np.where(m, np.linalg.norm(np.stack([v, x], 1), axis=1), 0)
np.where(m, np.std(np.stack([v, x], 1), axis=1), 0)
np.where(m, np.prod(np.stack([v, x], 1), axis=1), 0)
np.where(m, np.cumprod(np.stack([v, x], 1), axis=1)[:, 1], 0)
np.where(m, np.max(np.stack([v, x], 1), axis=1), 0)
np.where(m[:, None], np.stack([v, x], 1) @ np.array([[1.0, 2.0], [3.0, 4.0]]), 0)
np.where(m, np.einsum("ij,ij->i", np.stack([v, x], 1), np.stack([v, x], 1)), 0)
""".strip().splitlines()

MATRICES = """
np.trace(M)
np.trace(M * M)
np.trace(M) * np.sum(M[1])
np.einsum("ii", M)
np.linalg.diagonal(M) * 2
M[np.arange(3), np.arange(3)]
np.where(K, M, 0) @ np.where(K, M, 0)
np.linalg.inv(np.where(K, M, 0) + 9 * np.eye(3))
np.linalg.norm(np.where(K, M, 0), axis=0)
np.linalg.norm(np.where(K, M, 0), 2)
np.where(K, np.cumsum(np.where(K, M, 0), axis=0), 0)
np.tril(M)[np.tril(K)]
np.tril(np.where(K, M, 0)) + np.triu(np.where(K, M, 0)).T
M[1] * M[1:, 1:].sum()
M[:, 2][0] * M[1, 1]
np.max(M[1:, 1:], axis=0)
np.nanmedian(np.where(K, M, nan), axis=1)
np.nanquantile(np.where(K, M, nan), 0.3, axis=1)
np.nanstd(np.where(K, M, nan), axis=1)
np.trace(np.rot90(np.rot90(M)))
np.trace(np.stack([M, M * 2]), axis1=1, axis2=2)
np.vstack([M[1:2], M[:1, 2:] * np.ones((1, 3))])
""".strip().splitlines()

LOW = """
np.max(v)
np.median(v)
np.sort(v)[1:]
np.partition(v, 2)[2:]
np.quantile(v, 0.6)
np.maximum(v, 0.1)
np.fmax(v, 0.1)
np.cumsum(np.maximum(v, 0.1))
np.max(v[:, None] * np.array([1.0, 2.0]), axis=0)
np.sum(np.maximum(v[:, None], np.array([0.1, 0.2])), axis=1)
""".strip().splitlines()

HIGH = """
np.min(v)
np.median(v)
np.sort(v)[:4]
np.partition(v, 2)[:3]
np.quantile(v, 0.4)
np.minimum(v, 10.0)
""".strip().splitlines()
