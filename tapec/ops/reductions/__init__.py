"""Ops that sum up axes: sums, extremes, statistics, quantiles, running sums, histograms."""
