"""What plan and apply do: the plan, what speaks against it, and whether a saved one still holds."""
