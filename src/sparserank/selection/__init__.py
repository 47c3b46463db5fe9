"""What a selection is asked and what it says: plan and results as values, and sentences about them."""
