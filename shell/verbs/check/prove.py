"""``metalog prove SOURCE CLAIM…``: proves claims, or prints a request that breaks a claim.

This module must not know how a claim is proven.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import Final

from metalog.text.plurals import counted
from shell.arguments.yaml_files.claims import read_claims
from shell.context import add_config, add_source
from shell.inputs.queries import queries_of
from shell.output.output import Output
from shell.tasks.proof.proofs import proofs
from shell.views.proofs import point_out_unknown, print_proofs, proof_json, say_other_proofs

USAGE: Final = "SOURCE CLAIM… [options]"
FORMATS: Final = ("text", "json")
PAGED: Final = True
EPILOG: Final = """\
metalog prove /var/kafka/metadata claims.yaml --config server.properties
metalog prove @prod 'deny: {principal: any except [User:x], operation: Read, resource: topic:pii-*}'
metalog prove @prod 'only: {principals: [User:app], operation: Write, resource: topic:payments}'

The authorizer decides one request of each kind that the ACLs distinguish. So the answer is a proof,
or a request that breaks the claim. A claim is one of:

  deny, never   none of these principals may do it
  allow         all of these principals may do it
  only          each of these principals may do it, on at least one of the names and from at least
                one of the hosts; nobody else may

A principal, resource or host is one value, a list, "any", or "any except [...]"; a claim of
'only' must list principals and resources. super.users means the configured super users. The
resource topic:pay-* means every topic whose name begins with pay-. Without host, a claim covers
every host.

Exit code: 0 all claims are proven, 1 some are broken, 2 no answer."""


def configure(parser: ArgumentParser) -> None:
    add_source(parser)
    parser.add_argument_group("claims").add_argument(
        "claims",
        nargs="+",
        metavar="CLAIM",
        help="a YAML file, a folder of YAML files, or YAML text",
    )
    add_config(parser)


def run(arguments: Namespace, output: Output) -> int:
    claims = read_claims(arguments.claims)
    queries = queries_of(arguments, output)
    proved = proofs(claims, queries)
    point_out_unknown(claims, queries, output)
    say_other_proofs(proved, queries, output)
    broken = sum(not each.result.is_proven for each in proved)
    if output.is_text:
        print_proofs(proved, queries, arguments, output)
        if len(proved) > 1:
            outcome = f"{broken:,} of them broken" if broken else "all of them proven"
            output.line(f"{counted(len(proved), 'claim')}, {outcome}.")
    else:
        for each in proved:
            output.record(proof_json(each, queries, arguments))
    return 1 if broken else 0
