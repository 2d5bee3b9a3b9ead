# numpy: 1.5 Mflop, 20 MB moved, at most 2.5 MB of memory
# for logits of shape (1024, 300), labels of shape (1024,)
def cross_entropy_value_and_grad(logits, labels):
    z = logits - logits.max(axis=1, keepdims=True)  # golden_functions.py:24
    rows = np.arange(len(labels))
    picked_z = z[rows, labels]  # golden_functions.py:26
    exp_z = np.exp(z, out=z)    # in place: new memory takes longer   golden_functions.py:25
    sum_exp_z = exp_z.sum(axis=1)
    total = np.log(sum_exp_z)
    value = (total - picked_z).mean()

    scale = 1.0 / len(labels)   # golden_functions.py:25
    d_z = np.multiply((scale / sum_exp_z)[:, None], exp_z, out=exp_z)  # d log(sum(exp(z))) = softmax(z)
    d_z[rows, labels] -= scale  # golden_functions.py:26
    return value, d_z
