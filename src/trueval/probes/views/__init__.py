"""Views of probes: tables, small multiples, pages."""
