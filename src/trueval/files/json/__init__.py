"""JSON: one document, or an object on each line."""
