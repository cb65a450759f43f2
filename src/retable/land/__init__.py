"""Land raw messages in bronze without interpreting them."""
