"""This package writes decision trees of a function's paths as `if` statements."""
