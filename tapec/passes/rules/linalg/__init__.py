"""Rewrite rules about matrix products and factorisations."""
