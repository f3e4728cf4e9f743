"""Views of a precision audit: tables, text formats, the page, figures."""
