"""Records of DataWorks, in Kafka and in DataHub."""
