"""Stress: what becomes of conclusions about systems where a judge labels in the place of people."""
