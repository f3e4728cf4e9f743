"""What a sweep file says: its tables, the grid of systems, and the inputs that they read."""
