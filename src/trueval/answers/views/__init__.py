"""Views of answers."""
