"""This package finds loops that tracing unrolled, and writes them as loops."""
