"""Who may see which labels, and how good a method is."""
