"""One traced run of a function, its paths and guards."""
