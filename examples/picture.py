"""What the examples share: a picture in a file, where matplotlib is installed."""


def save_plot(path, draw, size=(6, 4)):
    """Let `draw(axes)` draw, and write what it drew."""
    try:
        import matplotlib
    except ImportError:
        print("no picture: matplotlib is not installed (pip install tapec[examples])")
        return
    matplotlib.use("Agg")  # no window
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=size, layout="constrained")
    draw(axes)
    figure.savefig(path, dpi=100)
    plt.close(figure)
    print("wrote", path)
