"""This package makes one traced run of a function, its paths and guards."""
