"""Put graphs together and cut them: inline one graph in another, part one by which inputs are known."""
