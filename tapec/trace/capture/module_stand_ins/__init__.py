"""This package stands in for NumPy, `math`, `sys`, `isinstance` and pandas where traced functions look them up."""
