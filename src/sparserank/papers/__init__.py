"""What a paper defines and the product's own solver does not need: its problem, its step, its settings."""
