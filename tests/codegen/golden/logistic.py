# numpy: 2.5 kflop, 12 kB moved, at most 1.2 kB of memory
def logistic_value_and_grad(w, b, x, y):
    margin = y * (x.dot(w) + b)     # golden_functions.py:19
    t = np.logaddexp(0.0, -margin)  # golden_functions.py:20

    g = np.expm1(-t) * y / y.size   # d log(1 + exp(z)) = sigmoid(z)   golden_functions.py:19
    d_b = g.sum()
    d_w = g.dot(x) + 0.01 * w
    return t.sum() / t.size + 0.005 * w.dot(w), d_w, d_b
