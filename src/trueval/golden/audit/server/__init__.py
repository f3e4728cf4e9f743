"""The server of an audit's page: request guard, parsing, sessions, the application."""
