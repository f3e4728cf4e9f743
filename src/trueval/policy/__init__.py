"""Policies: all choices that affect a number, ours and those of other tools."""
