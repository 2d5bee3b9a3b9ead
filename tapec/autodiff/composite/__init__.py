"""Differentiate several operations as one, where the whole has a simpler derivative than its parts."""
