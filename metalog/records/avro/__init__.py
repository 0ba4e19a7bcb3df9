"""Messages, snapshots and their container files in Avro."""
