"""The messages of StreamX, the engine of Alibaba Cloud DataWorks, in Kafka and in DataHub."""
