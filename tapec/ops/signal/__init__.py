"""Convolution, Fourier transforms and differences along an axis."""
