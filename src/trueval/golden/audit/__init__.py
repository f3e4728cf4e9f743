"""Audits: people grade a probability sample of what a judge graded."""
