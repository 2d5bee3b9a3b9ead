"""Align two pictures: find the rotation, scale and shift that lays one on the other, by gradients through resampling.

python examples/image_alignment.py           # writes image_alignment.png where matplotlib is installed
"""

import numpy as np
from picture import save_plot
from scipy.optimize import minimize

import tapec

SIZE = 64


def scene():
    """Some soft blobs."""
    y, x = np.mgrid[0:SIZE, 0:SIZE]
    rng = np.random.default_rng(2)
    blobs = [(rng.uniform(12, 52, 2), rng.uniform(3, 8), rng.uniform(0.3, 1.0)) for _ in range(8)]
    return sum(height * np.exp(-((x - c[0]) ** 2 + (y - c[1]) ** 2) / (2 * s**2)) for c, s, height in blobs)


def sample(image, x, y):
    """The picture's values at real positions, between four pixels; outside, those of the edge."""
    x, y = np.clip(x, 0.0, SIZE - 1.001), np.clip(y, 0.0, SIZE - 1.001)
    left, top = np.floor(x).astype(int), np.floor(y).astype(int)
    fx, fy = x - left, y - top
    upper = image[top, left] * (1 - fx) + image[top, left + 1] * fx
    lower = image[top + 1, left] * (1 - fx) + image[top + 1, left + 1] * fx
    return upper * (1 - fy) + lower * fy


def warp(image, p):
    """Rotate by p[0], scale by exp(p[1]), shift by p[2:], about the middle."""
    y, x = np.mgrid[0:SIZE, 0:SIZE] - (SIZE - 1) / 2
    c, s = np.cos(p[0]) * np.exp(p[1]), np.sin(p[0]) * np.exp(p[1])
    middle = (SIZE - 1) / 2
    return sample(image, c * x - s * y + p[2] + middle, s * x + c * y + p[3] + middle)


@tapec.value_and_grad
def loss(p, image, target):
    return np.mean((warp(image, p) - target) ** 2)


loss.example_args = lambda: (np.zeros(4), scene(), scene())


def main():
    image, truth = scene(), np.array([0.35, -0.15, 4.0, -3.0])
    target = warp(image, truth)
    found = minimize(loss, np.zeros(4), args=(image, target), jac=True, method="L-BFGS-B")
    print(f"{found.nit} iterations, loss {loss(np.zeros(4), image, target)[0]:.2e} -> {found.fun:.2e}")
    print("found", np.round(found.x, 3), " truth", truth)

    def draw(axes):
        shown = [image, target, warp(image, found.x), np.abs(warp(image, found.x) - target)]
        axes.imshow(np.concatenate(shown, axis=1), cmap="magma")
        axes.set_title("picture, target, aligned, what is left")
        axes.set_axis_off()

    save_plot("image_alignment.png", draw, size=(8, 2.4))


if __name__ == "__main__":
    main()
