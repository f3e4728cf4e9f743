"""The view of a precision audit, and its figures."""
