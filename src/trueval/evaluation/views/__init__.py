"""Views of an evaluation: tables, text formats, the page, figures."""
