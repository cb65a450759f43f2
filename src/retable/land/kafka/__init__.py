"""Read messages from Kafka: clients, positions, and the messages of a range."""
