"""The first stage, land: read the raw messages of a window from Kafka or files, and write them to bronze unchanged."""
