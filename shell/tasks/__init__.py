"""What a verb does, with values in and values out: no argparse, no terminal."""
