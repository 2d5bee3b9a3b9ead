# numpy: 352 kflop, 470 kB moved, at most 65 kB of memory
# for theta of shape (2,), x of shape (40, 3), y of shape (40,)
def likelihood_value_and_grad(theta, x, y):
    square = np.vecdot(x, x)             # golden_functions.py:61
    distance = square[:, None] + square  # golden_functions.py:62
    z = x @ x.T
    z *= 2.0
    distance -= z
    distance *= 0.5                      # golden_functions.py:63
    np.subtract(theta[0], distance, out=distance)
    np.exp(distance, out=distance)
    exp_theta1 = np.exp(theta[1])
    kernel = np.eye(len(x))
    kernel *= exp_theta1
    kernel += distance
    alpha = np.linalg.solve(kernel, y)   # golden_functions.py:65
    factor = np.linalg.cholesky(kernel)  # golden_functions.py:64
    logs = np.log(np.diagonal(factor))   # golden_functions.py:66

    factor_inv = np.linalg.inv(factor)   # golden_functions.py:64
    np.matmul(factor_inv.T, factor_inv, out=z)  # the inverse, from the Cholesky factor
    z *= 0.5
    g = np.multiply((0.5 * alpha)[:, None], alpha, out=factor_inv)  # golden_functions.py:65
    z -= g
    s = np.vdot(z, distance)             # golden_functions.py:63
    d_theta = np.empty(theta.shape)
    d_theta[0] = s
    d_theta[1] = np.trace(z) * exp_theta1
    return 0.5 * (y @ alpha) + logs.sum(), d_theta
