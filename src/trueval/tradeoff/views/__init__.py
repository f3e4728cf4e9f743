"""How sweeps and frontiers look."""
