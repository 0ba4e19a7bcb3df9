"""The tasks behind verbs, with values in and values out: no argparse, no terminal."""
