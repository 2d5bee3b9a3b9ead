"""Keep cotangents symbolic: zeros, signs and constant fills that never become nodes."""
