"""The hot path of replay: decodes plain records of a batch without a message object for each."""
