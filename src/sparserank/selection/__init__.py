"""What a selection says: values, and sentences about them."""
