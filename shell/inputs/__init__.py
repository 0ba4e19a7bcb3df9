"""What a verb reads before it answers, by its arguments: SOURCE, files, questions, the rest."""
