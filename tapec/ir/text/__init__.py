"""Print graphs as text, and read them back."""
