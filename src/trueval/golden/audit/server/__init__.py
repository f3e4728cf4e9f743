"""The server of an audit's page: requests guarded and parsed, sessions, the application."""
