"""The tasks behind verbs. They know no argparse and no terminal."""
