"""``metalog schema FILE``: the JSON Schema of a file that people write, for editors and CI.

This module must not know what is in a schema.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import Final

from shell.arguments.yaml_files.schemas import SCHEMAS, schema
from shell.output.output import Output

USAGE: Final = "acls|expectations|accepted|owners|metalog.toml"
FORMATS: Final = ("text",)
PAGED: Final = False
EPILOG: Final = """\
metalog schema acls > acls.schema.json

An editor with the YAML language server completes and checks a file that begins with

  # yaml-language-server: $schema=acls.schema.json

An editor with a TOML server (Even Better TOML, taplo) does this for a metalog.toml that begins with

  #:schema metalog.schema.json"""


def configure(parser: ArgumentParser) -> None:
    parser.add_argument_group("file").add_argument(
        "file", choices=tuple(SCHEMAS), metavar="FILE", help=", ".join(SCHEMAS)
    )


def run(arguments: Namespace, output: Output) -> int:
    from json import dumps

    output.line(dumps(schema(arguments.file), indent=2))
    return 0
