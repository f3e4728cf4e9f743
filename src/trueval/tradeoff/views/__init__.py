"""Views of sweeps and frontiers: the paper's tables, text formats, the page, figures."""
