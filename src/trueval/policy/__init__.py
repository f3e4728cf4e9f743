"""Policies: every choice that changes a number, ours and those of other tools."""
