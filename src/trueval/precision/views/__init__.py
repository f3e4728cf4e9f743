"""How a precision audit looks: tables, text formats, the page, figures."""
