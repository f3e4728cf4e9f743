"""How golden sets look: tables, text formats, the page, figures."""
