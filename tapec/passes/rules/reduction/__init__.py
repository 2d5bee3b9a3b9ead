"""These rules rewrite sums, means, variances and layout."""
