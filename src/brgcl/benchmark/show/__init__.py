"""Records -> tables and pictures; nothing is trained here."""
