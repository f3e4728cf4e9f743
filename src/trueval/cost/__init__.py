"""Cost: prices of models, tokens, bytes of indexes, and what 1,000 queries cost."""
