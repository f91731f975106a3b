"""Ways of finding wrong labels: one file per detector, its facts at the end."""
