"""What brokers' logs cover, and how often each request was seen."""
