"""How an evaluation looks: tables, text formats, the page, figures."""
