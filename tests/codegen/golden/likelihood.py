# numpy: 352 kflop, 213 kB moved, at most 103 kB of memory
# for theta of shape (2,), x of shape (40, 3), y of shape (40,)
def likelihood_value_and_grad(theta, x, y):
    square = np.vecdot(x, x)                 # golden_functions.py:61
    distance = square[:, None] + square - 2.0 * (x @ x.T)  # golden_functions.py:62
    exp = np.exp(theta[0] - 0.5 * distance)  # golden_functions.py:63
    exp_theta1 = np.exp(theta[1])
    kernel = exp + exp_theta1 * np.eye(len(x))
    factor = np.linalg.cholesky(kernel)      # golden_functions.py:64
    alpha = np.linalg.solve(kernel, y)       # golden_functions.py:65
    value = 0.5 * (y @ alpha) + np.log(np.diagonal(factor)).sum()  # golden_functions.py:66

    factor_inv = np.linalg.inv(factor)       # golden_functions.py:64
    d_kernel = 0.5 * (factor_inv.T @ factor_inv) - (0.5 * alpha)[:, None] * alpha  # the inverse, from the Cholesky  ...
    d_theta = np.empty(theta.shape)          # golden_functions.py:63
    d_theta[0] = np.vdot(d_kernel, exp)
    d_theta[1] = np.trace(d_kernel) * exp_theta1
    return value, d_theta
