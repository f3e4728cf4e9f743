"""More than one machine: the adapter of Ray, and nothing else of trueval knows Ray."""
