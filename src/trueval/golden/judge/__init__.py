"""Judges that grade and order passages, the calls that ask them, and the ledger that prevents repeated calls."""
