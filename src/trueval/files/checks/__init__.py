"""Checks of what was read: duplicates, ids that look alike, ranks that contradict scores."""
