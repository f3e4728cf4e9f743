"""Sampling: which judged passages people grade, drawn at random from strata, and the tasks made of them."""
