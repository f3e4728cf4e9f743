"""What an audit of cuts stands on: calls, groups at a cutoff, why they tie, and the stages after them."""
