"""Families that few programs need, by the functions of NumPy to which they give a meaning.

They are imported at the first call of one: together they would be a quarter of what `import tapec` takes.
"""

from __future__ import annotations

__all__ = ["HOME", "import_all"]

_FUNCTIONS = {
    "applying": "apply_along_axis apply_over_axes",
    "counting": "bincount histogram histogram2d histogram_bin_edges histogramdd",
    "determinants": "det slogdet",
    "differences": "diff ediff1d gradient trapezoid trapz",
    "eigen": "eig eigh eigvals eigvalsh",
    "einsum": "einsum einsum_path",
    "factor": "cholesky qr",
    "fft": "fft fft2 fftn fftshift hfft ifft ifft2 ifftn ifftshift ihfft irfft irfft2 irfftn rfft rfft2 rfftn",
    "functions": "i0 sinc unwrap vander",
    "leastsquares": "lstsq pinv",
    "nan": "nan_to_num nancumprod nancumsum nanmax nanmean nanmin nanprod nanstd nansum nanvar",
    "norms": "cond matrix_norm norm vector_norm",
    "padding": "pad",
    "polynomial": "poly polyadd polyder polydiv polyfit polyint polymul polysub polyval roots",
    "polynomial_grids": "polygrid2d polyval2d",
    "quantiles": "median nanmedian nanpercentile nanquantile percentile quantile",
    "sets": """
        in1d intersect1d isin packbits ravel_multi_index setdiff1d setxor1d trim_zeros union1d unique unique_all
        unique_counts unique_inverse unique_values unpackbits unravel_index""",
    "signals": "convolve correlate cross kron",
    "singular": "matrix_rank svd svdvals",
    "solving": "inv solve tensorinv tensorsolve",
    "tensordot": "tensordot",
    "windows": "sliding_window_view",
}
HOME = {name: f"tapec.ops.{module}" for module, names in _FUNCTIONS.items() for name in names.split()}


def import_all() -> None:
    """Define every op that needs NumPy alone: for those who walk through the table, or look an op up by its name."""
    from tapec.ops.array import bring_in  # which asks for `HOME`

    for module in dict.fromkeys(HOME.values()):
        bring_in(module)
