"""Linear networks: closed forms for two layers, and for aligned networks of any depth."""
