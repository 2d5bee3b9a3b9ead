"""Rewrite rules about sums, products, powers and constants."""
