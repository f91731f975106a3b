"""What a run shows a person: text, JSON and HTML."""
