"""Messages of Kafka: clients, positions, and the messages of a range."""
