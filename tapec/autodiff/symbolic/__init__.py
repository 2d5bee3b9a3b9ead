"""Cotangents that are kept symbolic: zeros, signs and constant fills that never become nodes."""
