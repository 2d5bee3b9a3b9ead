"""Compare compiled functions with plain NumPy: their values, their lines, their slopes along one direction."""
