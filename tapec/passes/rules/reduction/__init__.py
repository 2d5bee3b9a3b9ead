"""Rewrite rules about sums, means, variances and layout."""
