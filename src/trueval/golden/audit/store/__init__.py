"""The store of an audit: its items, events, labels and texts in SQLite, and the queue of assignments."""
