"""Deep networks: how they leave zero in two steps, and their flow once they are of low rank."""
