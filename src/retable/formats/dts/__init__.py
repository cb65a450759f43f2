"""Records of Alibaba's DTS in its own Avro schema."""
