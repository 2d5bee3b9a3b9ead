# numpy: 2.8 kflop, 59 kB moved, at most 7.8 kB of memory
# for table of shape (50, 8), index of shape (64,), y of shape (64,)
def embedding_value_and_grad(table, index, y):
    found = table.take(index, axis=0)  # golden_functions.py:40
    np.tanh(found, out=found)
    diff = found.sum(axis=1) - y       # golden_functions.py:41

    found *= found                     # golden_functions.py:40
    np.subtract(1, found, out=found)   # tanh' = 1 - tanh^2
    found *= (diff * (2.0 / y.size))[:, None]
    d_table = np.zeros(table.shape)
    add_at(d_table, index, found)
    return diff.dot(diff) / y.size, d_table
