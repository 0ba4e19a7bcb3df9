"""What ACLs were used for: counted, judged, and covered by fewer."""
