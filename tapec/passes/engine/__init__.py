"""The rewrite engine: patterns, rules, use counts, value numbering, and what is known of a node."""
