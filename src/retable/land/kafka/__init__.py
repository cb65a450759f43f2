"""Read messages from Kafka: make clients, find the present offsets, and read ranges of offsets."""
