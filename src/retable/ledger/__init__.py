"""Read and write the system tables, such as `ops.ledger`, which records what each stage did. No JVM is needed."""
