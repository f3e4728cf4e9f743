"""Intervals and tests: queries aligned and resampled, paired tests, betting, and win probabilities over tie orders."""
