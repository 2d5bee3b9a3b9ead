"""Linear algebra (being filled in)."""
