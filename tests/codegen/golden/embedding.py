# 2.8 kflop, 26 kB moved, at most 7.8 kB of memory
def embedding_value_and_grad(table, index, y):
    found = np.tanh(table[index])  # golden_functions.py:40   np.tanh(table[index])
    t = found.dot(np.ones(8)) - y  # golden_functions.py:41   np.sum(found, axis=1) - y
    d_table = np.zeros((50, 8))    # golden_functions.py:40   table[index]
    add_at(d_table, index, (t * 0.03125)[:, None] * (1 - found * found))
    return t.dot(t) / 64, d_table  # golden_functions.py:41   np.mean((np.sum(found, axis=1) - y) ** 2)
