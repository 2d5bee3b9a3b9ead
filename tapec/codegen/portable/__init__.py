"""This package writes pure code for any library of the array API: `f(xp, *args)`, with `xp` its namespace."""
