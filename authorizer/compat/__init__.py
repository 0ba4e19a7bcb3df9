"""Interfaces of older Kafkas."""
