"""The command as a person runs it: in a process, at a terminal, by its help, with completion."""
