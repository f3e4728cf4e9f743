"""Reports: tables, pages, figures and result files."""
