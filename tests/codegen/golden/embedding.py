# numpy: 2.8 kflop, 59 kB moved, at most 7.8 kB of memory
def embedding_value_and_grad(table, index, y):
    found = table.take(index, axis=0)        # golden_functions.py:40   np.tanh(table[index])
    np.tanh(found, out=found)
    diff = found.sum(axis=1) - y             # golden_functions.py:41   np.sum(found, axis=1) - y
    found *= found                           # golden_functions.py:40   np.tanh(table[index])
    np.subtract(1, found, out=found)
    found *= (diff * (2.0 / y.size))[:, None]
    d_table = np.zeros(table.shape)
    add_at(d_table, index, found)
    return diff.dot(diff) / y.size, d_table  # golden_functions.py:41   np.mean((np.sum(found, axis=1) - y) ** 2)
