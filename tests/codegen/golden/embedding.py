# numpy: 2.8 kflop, 26 kB moved, at most 13 kB of memory
# add_at is a helper, which f.export writes out
def embedding_value_and_grad(table, index, y):
    found = np.tanh(table[index])    # golden_functions.py:40
    resid = found.sum(axis=1) - y    # golden_functions.py:41
    value = resid.dot(resid) / len(y)

    d_table = np.zeros(table.shape)  # golden_functions.py:40
    add_at(d_table, index, (resid * (2.0 / len(y)))[:, None] * (1 - found * found))  # tanh' = 1 - tanh^2
    return value, d_table
