"""Field types, varints, text, checksums and compression: the bytes below any record."""
