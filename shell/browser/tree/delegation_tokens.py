"""``/image/delegationToken``: tokens by id. A log does not contain their HMACs.

This module must not know how the tree is printed.
"""

from __future__ import annotations

from metalog.image.state.delegation_tokens import DelegationToken, DelegationTokensImage
from shell.browser.nodes import Directory, Leaf, listing


def kafka_delegation_tokens(image: DelegationTokensImage) -> Directory:
    return listing(lambda: image.tokens, _leaf)


def _leaf(token: DelegationToken) -> Leaf:
    """The token in Kafka's form, with Kafka's unbalanced parentheses."""
    return Leaf(
        f"DelegationTokenDatatokenId={token.token_id}(owner={token.owner}"
        f"(tokenRequester={token.requester}(renewers={' '.join(token.renewers)}, "
        f"issueTimestamp={token.issue_timestamp}, maxTimestamp={token.max_timestamp}), "
        f"expiryTimestamp={token.expiration_timestamp}"
    )
