"""This package handles calls that are no op of their own: operators, ufunc keywords and methods, shape queries."""
