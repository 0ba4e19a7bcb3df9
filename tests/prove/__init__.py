"""The long runs behind docs/ASSURANCE.md: one module for each promise, and one driver."""
