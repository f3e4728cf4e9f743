"""The precision audit: what a model's number formats do to a result."""
