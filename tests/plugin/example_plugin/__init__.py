"""What another package may add to trueval, one module for each group of entry points."""
