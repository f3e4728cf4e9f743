"""How retrieval looks: the stages of a pipeline as a table, and their part of the page."""
