"""Configuration: properties files, JAAS, a client's settings, and plugin classes."""
