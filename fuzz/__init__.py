"""Hostile input: what each reader must do with any bytes, and targets that try to prove it wrong."""
