"""Golden sets: labels of a corpus of one's own, from a judge that errs and a budget that ends."""
