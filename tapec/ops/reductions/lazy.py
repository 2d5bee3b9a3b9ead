"""Import the rarely used families of this package on first use; list the NumPy functions that each one defines."""

from types import ModuleType

from tapec.ops.core.lazy import family

__all__ = ["histograms", "nan_functions", "quantiles"]


@family("bincount histogram histogram2d histogram_bin_edges histogramdd")
def histograms() -> ModuleType:
    from tapec.ops.reductions import histograms

    return histograms


@family("nan_to_num nancumprod nancumsum nanmax nanmean nanmin nanprod nanstd nansum nanvar")
def nan_functions() -> ModuleType:
    from tapec.ops.reductions import nan_functions

    return nan_functions


@family("median nanmedian nanpercentile nanquantile percentile quantile")
def quantiles() -> ModuleType:
    from tapec.ops.reductions import quantiles

    return quantiles
