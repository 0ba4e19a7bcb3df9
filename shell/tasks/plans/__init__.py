"""The common part of plan and apply: plans, their checks, and saved plans."""
