"""`tf.math`."""

from tapec.compat.tensorflow import nn, reductions
from tapec.compat.tensorflow.elementwise import BINARY, UNARY, add_n

_OF_NN = ("l2_normalize", "log_softmax", "sigmoid", "softmax", "softplus", "softsign", "top_k")

__all__ = ["add_n", *_OF_NN, *reductions.__all__, *UNARY, *BINARY]

globals().update({name: getattr(nn, name) for name in _OF_NN})
globals().update({name: getattr(reductions, name) for name in reductions.__all__})
globals().update(UNARY)
globals().update(BINARY)
