# numpy: 2.5 kflop, 12 kB moved, at most 1.6 kB of memory
def logistic_value_and_grad(w, b, x, y):
    margin = y * (x.dot(w) + b)              # golden_functions.py:19
    softplus = np.logaddexp(0.0, -margin)    # golden_functions.py:20
    value = softplus.sum() / softplus.size + 0.005 * w.dot(w)

    d_xw = np.expm1(-softplus) * y / len(y)  # d log(1 + exp(z)) = sigmoid(z)   golden_functions.py:19
    d_b = d_xw.sum()
    d_w = d_xw.dot(x) + 0.01 * w
    return value, d_w, d_b
