"""Compiled functions: calls, signatures, inspection, export."""
