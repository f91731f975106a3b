"""The review: a person goes through suspicious labels, and every decision is kept."""
