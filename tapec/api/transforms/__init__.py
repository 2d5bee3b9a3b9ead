"""This package has the transforms: grad, jacobian, vmap, jvp, vjp and their kin."""
