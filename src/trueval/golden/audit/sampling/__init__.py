"""Sampling: which judged passages people grade, a stratified random sample, and the rating tasks made from it."""
