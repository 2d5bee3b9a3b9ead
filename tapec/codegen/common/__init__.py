"""What every way of writing code shares: statements, names, syntax trees, printing and loading."""
