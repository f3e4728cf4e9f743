"""What people read: tables, files, findings."""
