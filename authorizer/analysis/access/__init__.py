"""Who may do what: by principal, by resource, by host, on all names."""
