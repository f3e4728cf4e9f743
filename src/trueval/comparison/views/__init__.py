"""How a comparison looks: tables, text formats, the page."""
