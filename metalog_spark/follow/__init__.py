"""What happens now: requests decided as their lines come in, and alerts, each exactly once."""
