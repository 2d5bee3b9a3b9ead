# 659 kflop, 749 kB moved, at most 103 kB of memory
# eye = np.eye(40)
def likelihood_value_and_grad(theta, x, y):
    square = np.vecdot(x, x)             # golden_functions.py:61   np.sum(x * x, axis=1)
    distance = square[:, None] + square  # golden_functions.py:62   square[:, None] + square[None, :] - 2.0 * (x @ x.T)
    distance2 = x.dot(x.T)
    distance2 *= 2.0
    distance -= distance2
    distance *= 0.5                      # golden_functions.py:63   np.exp(theta[0] - 0.5 * distance) + np.exp(theta ...
    np.subtract(theta[0], distance, out=distance)
    np.exp(distance, out=distance)
    e = np.exp(theta[1])
    np.multiply(e, eye, out=distance2)
    kernel = np.add(distance, distance2, out=distance2)
    alpha = np.linalg.solve(kernel, y)   # golden_functions.py:65   np.linalg.solve(kernel, y)
    factor = np.linalg.cholesky(kernel)  # golden_functions.py:64   np.linalg.cholesky(kernel)
    t = np.diagonal(factor)              # golden_functions.py:66   np.diag(factor)
    d_factor = np.diag(1 / t)
    g = np.linalg.solve(kernel.T, 0.5 * y)[:, None] * alpha  # golden_functions.py:65   np.linalg.solve(kernel, y)
    inverse = np.linalg.inv(factor)      # golden_functions.py:64   np.linalg.cholesky(kernel)
    np.matmul(factor.T, d_factor, out=kernel)
    g2 = np.tril(kernel)
    t2 = np.eye(40)
    t2 *= 0.5
    np.subtract(1.0, t2, out=t2)
    g2 *= t2
    np.matmul(inverse.T, g2, out=t2)
    np.matmul(t2, inverse, out=g2)
    g2 += g2.T
    g2 *= 0.5
    g2 -= g
    s = np.vdot(g2, eye)                 # golden_functions.py:63   np.exp(theta[1]) * np.eye(len(y))
    s2 = np.vdot(g2, distance)
    d_theta = np.zeros(2)
    d_theta[1] = s * e
    d_theta[0] += s2
    return 0.5 * y.dot(alpha) + np.log(t).sum(), d_theta  # golden_functions.py:66   0.5 * (y @ alpha) + np.sum(np.l ...
