"""How the tradeoff looks: tables, text formats, the page, figures."""
