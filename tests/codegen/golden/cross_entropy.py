# numpy: 1.5 Mflop, 4.9 MB moved, at most 3.4 MB of memory
# for logits of shape (1024, 300), labels of shape (1024,)
def cross_entropy_value_and_grad(logits, labels):
    subtotal = 0.0
    d_z = np.empty(logits.shape)
    for i in range(0, len(logits), 128):  # blocks that stay in the cache
        j = i + 128
        logits_ = logits[i:j]
        labels_ = labels[i:j]
        d_z_ = d_z[i:j]
        rows = np.arange(len(labels_))
        z = logits_ - logits_.max(axis=1, keepdims=True)  # golden_functions.py:24
        exp_z = np.exp(z)                 # golden_functions.py:25
        sum_exp_z = exp_z.sum(axis=1)
        total = np.log(sum_exp_z)
        subtotal += (total - z[rows, labels_]).sum()  # golden_functions.py:26

        d_z_[...] = (1.0 / len(logits) / sum_exp_z)[:, None] * exp_z  # golden_functions.py:25
        d_z_[rows, labels_] -= 1.0 / len(logits)  # golden_functions.py:26
    return subtotal / len(logits), d_z
