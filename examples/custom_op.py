"""An op of one's own: one definition says what it computes, how it is differentiated, and how it is written in code.

python examples/custom_op.py
"""

import numpy as np

import tapec
from tapec.ops.core.define import as_operand, define
from tapec.ops.core.sample_domains import any_real
from tapec.ops.core.stand_in import apply

LOG_COSH = define(
    "log_cosh",
    run=lambda x: np.logaddexp(x, -x) - np.log(2.0),
    rule=lambda x: x,  # the type of the result: that of the input
    kind="elementwise",
    partials=lambda y, x: (np.tanh(x),),
    source="np.logaddexp({0}, -{0}) - 0.6931471805599453",
    sample=(any_real,),
)


def log_cosh(x):
    """log(cosh(x)), without overflow: the smooth absolute value."""
    return apply(LOG_COSH, (as_operand(x),))


@tapec.value_and_grad
def loss(w, x, y):
    return np.mean(log_cosh(x @ w - y))


loss.example_args = (np.array([1.0, -1.0]), np.eye(3, 2), np.array([0.0, 100.0, 2000.0]))


def main():
    value, gradient = loss(*loss.example_args)
    print(f"loss {value:.4f}, gradient {gradient}")
    print(loss.source())
    tapec.check_grads(log_cosh, (np.array([-2.0, 0.1, 3.0]),), order=3)
    print("derivatives to order 3, forward and reverse, agree with differences")


if __name__ == "__main__":
    main()
