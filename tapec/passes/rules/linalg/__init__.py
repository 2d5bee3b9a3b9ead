"""These rules rewrite matrix products and factorisations."""
