"""This package makes compiled functions: calls, signatures, inspection, export."""
