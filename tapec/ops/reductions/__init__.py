"""This package defines ops along axes: sums, extremes, statistics, quantiles, running sums, histograms."""
