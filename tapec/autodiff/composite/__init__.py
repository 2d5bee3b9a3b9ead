"""Derivatives of several operations taken as one, where the whole has a simpler one than its parts."""
