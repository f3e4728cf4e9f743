"""Probes: small constructed tests of a scorer, of names and of noise."""
