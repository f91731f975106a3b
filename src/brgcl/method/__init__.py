"""brgcl."""
