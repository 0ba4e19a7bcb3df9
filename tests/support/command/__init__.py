"""The command as a person runs it: in a process, at a terminal, with its help and its
completion."""
