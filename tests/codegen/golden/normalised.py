# numpy: 5.8 Mflop, 4.2 MB moved, at most 4.2 MB of memory
def normalised_value_and_grad(x, gain, shift):
    value = 0.0
    d_shift = np.zeros(shift.shape)
    d_gain = np.zeros(gain.shape)
    d_x = np.empty(x.shape)
    for i in range(0, len(x), 256):  # blocks that stay in the cache
        block = slice(i, i + 256)
        centred = x[block] - x[block].mean(axis=1, keepdims=True)  # golden_functions.py:34
        scale = np.sqrt(np.vecdot(centred, centred, keepdims=True) / x.shape[1] + 1e-05)  # golden_functions.py:35
        normed = centred / scale     # golden_functions.py:36
        tanh = np.tanh(normed * gain + shift)
        value += tanh.sum()

        slope = 1 - tanh * tanh      # tanh' = 1 - tanh^2   golden_functions.py:36
        d_shift += slope.sum(axis=0)
        d_gain += np.einsum('ij,ij->j', slope, normed)
        d_normed = slope * gain
        d_centred = d_normed - np.vecdot(d_normed, normed, keepdims=True) / len(gain) * normed  # golden_functions.py:35
        d_centred /= scale
        d_x[block] = d_centred - d_centred.mean(axis=1, keepdims=True)  # golden_functions.py:34
    return value, d_x, d_gain, d_shift
