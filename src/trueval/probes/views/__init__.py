"""How probes look: tables, small multiples, pages."""
