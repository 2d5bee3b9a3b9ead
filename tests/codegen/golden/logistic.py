# numpy: 2.5 kflop, 12 kB moved, at most 1.2 kB of memory
def logistic_value_and_grad(w, b, x, y):
    margin = y * (x.dot(w) + b)            # golden_functions.py:19   y * (x @ w + b)
    t = np.logaddexp(0.0, -margin)         # golden_functions.py:20   np.logaddexp(0.0, -margin)
    g = np.expm1(-t) * y * (1.0 / y.size)  # golden_functions.py:19   x @ w + b
    d_b = g.sum()
    d_w = w * 0.01 + g.dot(x)
    return t.sum() / t.size + 0.005 * w.dot(w), d_w, d_b  # golden_functions.py:20   np.mean(np.logaddexp(0.0, -marg ...
