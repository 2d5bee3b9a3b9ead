"""Jacobians and Hessians as graphs."""
