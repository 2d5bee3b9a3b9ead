"""These rules rewrite indexing, slicing, scattering and masks."""
