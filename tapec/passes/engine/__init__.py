"""The rewrite engine matches patterns, fires rules, counts uses, numbers values, and knows facts about nodes."""
