"""Families that few programs need, by the functions of NumPy to which they give a meaning.

They are imported at the first call of one: together they would be a quarter of what `import tapec` takes.
"""

from __future__ import annotations

__all__ = ["HOME", "import_all"]

_FUNCTIONS = {
    "numpy_calls.apply_along_axis": "apply_along_axis apply_over_axes",
    "reductions.histograms": "bincount histogram histogram2d histogram_bin_edges histogramdd",
    "linalg.determinants": "det slogdet",
    "signal.differences": "diff ediff1d gradient trapezoid trapz",
    "linalg.eigen": "eig eigh eigvals eigvalsh",
    "linalg.einsum": "einsum einsum_path",
    "linalg.cholesky_qr": "cholesky qr",
    "signal.fft": "fft fft2 fftn fftshift hfft ifft ifft2 ifftn ifftshift ihfft irfft irfft2 irfftn rfft rfft2 rfftn",
    "elementwise.sinc_i0_unwrap": "i0 sinc unwrap vander",
    "linalg.least_squares": "lstsq pinv",
    "reductions.nan_functions": "nan_to_num nancumprod nancumsum nanmax nanmean nanmin nanprod nanstd nansum nanvar",
    "linalg.norms": "cond matrix_norm norm vector_norm",
    "layout.pad": "pad",
    "polynomial.coefficients": "poly polyadd polyder polydiv polyfit polyint polymul polysub polyval roots",
    "polynomial.two_variables": "polygrid2d polyval2d",
    "reductions.quantiles": "median nanmedian nanpercentile nanquantile percentile quantile",
    "indexing.sets": """
        in1d intersect1d isin packbits ravel_multi_index setdiff1d setxor1d trim_zeros union1d unique unique_all
        unique_counts unique_inverse unique_values unpackbits unravel_index""",
    "signal.convolve": "convolve correlate cross kron",
    "linalg.svd": "matrix_rank svd svdvals",
    "linalg.solve_and_inv": "inv solve tensorinv tensorsolve",
    "linalg.tensordot": "tensordot",
    "layout.sliding_windows": "sliding_window_view",
}
HOME = {name: f"tapec.ops.{module}" for module, names in _FUNCTIONS.items() for name in names.split()}


def import_all() -> None:
    """Define every op that needs NumPy alone: for those who walk through the table, or look an op up by its name."""
    from tapec.ops.core.stand_in import bring_in  # which asks for `HOME`

    for module in dict.fromkeys(HOME.values()):
        bring_in(module)
