"""The parts of which records consist: field types, varints, text, checksums, compression."""
