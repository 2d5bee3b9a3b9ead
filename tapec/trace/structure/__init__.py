"""This package makes the structural key of a recording, and finds a recording again by it."""
