"""These rules rewrite sums, products, powers and constants."""
