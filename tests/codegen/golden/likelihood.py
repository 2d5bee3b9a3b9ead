# numpy: 352 kflop, 456 kB moved, at most 52 kB of memory
# eye = np.eye(40)
def likelihood_value_and_grad(theta, x, y):
    square = np.vecdot(x, x)             # golden_functions.py:61   np.sum(x * x, axis=1)
    distance = square[:, None] + square  # golden_functions.py:62   square[:, None] + square[None, :] - 2.0 * (x @ x.T)
    z = x @ x.T
    z *= 2.0
    distance -= z
    distance *= 0.5                      # golden_functions.py:63   np.exp(theta[0] - 0.5 * distance) + np.exp(theta ...
    np.subtract(theta[0], distance, out=distance)
    np.exp(distance, out=distance)
    exp_theta1 = np.exp(theta[1])
    kernel = np.multiply(exp_theta1, eye, out=z)
    kernel += distance
    alpha = np.linalg.solve(kernel, y)   # golden_functions.py:65   np.linalg.solve(kernel, y)
    factor = np.linalg.cholesky(kernel)  # golden_functions.py:64   np.linalg.cholesky(kernel)
    l = np.log(np.diagonal(factor))      # golden_functions.py:66   np.log(np.diag(factor))
    factor_inv = np.linalg.inv(factor)   # golden_functions.py:64   np.linalg.cholesky(kernel)
    z = np.matmul(factor_inv.T, factor_inv, out=factor)
    z *= 0.5
    g = np.multiply((alpha * 0.5)[:, None], alpha, out=factor_inv)  # golden_functions.py:65   np.linalg.solve(kerne ...
    z -= g                               # golden_functions.py:64   np.linalg.cholesky(kernel)
    g = np.trace(z)                      # golden_functions.py:63   np.exp(theta[1]) * np.eye(len(y))
    s = np.vdot(z, distance)
    d_theta = np.empty(theta.shape)
    d_theta[1] = g * exp_theta1
    d_theta[0] = s
    return 0.5 * (y @ alpha) + l.sum(), d_theta  # golden_functions.py:66   0.5 * (y @ alpha) + np.sum(np.log(np.dia ...
