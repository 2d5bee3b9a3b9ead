"""This package defines convolution, Fourier transforms and differences along an axis."""
