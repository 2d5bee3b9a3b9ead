"""Loops that tracing unrolled, found again and written as loops."""
