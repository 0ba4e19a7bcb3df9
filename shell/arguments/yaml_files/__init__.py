"""YAML files that people write: expectations and claims, and their JSON Schemas."""
