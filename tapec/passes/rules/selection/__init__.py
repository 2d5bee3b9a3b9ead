"""Rewrite rules about indexing, slicing, scattering and masks."""
