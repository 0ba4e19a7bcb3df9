"""A real Kafka: its tools, its nodes, the logs it wrote, and the answers of its authorizer."""
