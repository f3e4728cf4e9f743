"""How sweeps and frontiers look: tables of the paper, text formats, the page, figures."""
