"""Decision trees of a function's paths as `if` statements."""
