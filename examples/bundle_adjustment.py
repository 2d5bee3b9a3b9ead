"""Bundle adjustment in the small: where were the cameras, and where are the points that they saw?

Each observation depends on one camera and one point, so the Jacobian is sparse; gathers tell tapec which numbers count.

    python examples/bundle_adjustment.py
"""

import numpy as np
from scipy.optimize import least_squares

import tapec

CAMERAS, POINTS = 5, 60


def rotate(vectors, points):
    """Turn each point about its own axis by the length of that axis (Rodrigues)."""
    angle = np.sqrt(np.sum(vectors**2, axis=1, keepdims=True) + 1e-12)
    axis = vectors / angle
    along = np.sum(axis * points, axis=1, keepdims=True)
    return points * np.cos(angle) + np.cross(axis, points) * np.sin(angle) + axis * along * (1 - np.cos(angle))


def project(cameras, points):
    """Pixels of points in the picture of their camera: turned, moved, divided by the depth."""
    seen = rotate(cameras[:, :3], points) + cameras[:, 3:]
    return seen[:, :2] / seen[:, 2:]


def residuals(unknowns, which_camera, which_point, pixels):
    cameras = np.reshape(unknowns[: 6 * CAMERAS], (CAMERAS, 6))
    points = np.reshape(unknowns[6 * CAMERAS :], (POINTS, 3))
    return np.ravel(project(cameras[which_camera], points[which_point]) - pixels)


jacobian = tapec.jacobian(residuals, sparse=True)


def main():
    rng = np.random.default_rng(0)
    points = rng.normal(size=(POINTS, 3)) + [0, 0, 8]
    cameras = np.concatenate([0.15 * rng.normal(size=(CAMERAS, 3)), 0.5 * rng.normal(size=(CAMERAS, 3))], axis=1)
    which_camera, which_point = np.divmod(np.flatnonzero(rng.uniform(size=CAMERAS * POINTS) < 0.8), POINTS)
    pixels = project(cameras[which_camera], points[which_point]) + 1e-3 * rng.normal(size=(len(which_camera), 2))

    truth = np.concatenate([cameras.ravel(), points.ravel()])
    start = truth + 0.05 * rng.normal(size=truth.shape)
    data = (which_camera, which_point, pixels)
    found = least_squares(residuals, start, jac=jacobian, args=data, x_scale="jac", method="trf")

    stored = jacobian(start, *data)
    print(f"{stored.shape[0]} residuals, {stored.shape[1]} unknowns, {stored.nnz} numbers in the Jacobian")
    print(f"{found.nfev} evaluations")
    for name, x in (("start", start), ("found", found.x)):
        print(f"{name}: pixels missed by {np.sqrt(np.mean(residuals(x, *data) ** 2)):.5f}  (noise 0.001)")


if __name__ == "__main__":
    main()
