"""Which messages of a SCRAM client are read, and what is read in them (RFC 5802, section 7).

`tests/compat/test_scram_messages.py` holds the reader against Kafka's own classes.
"""

from __future__ import annotations

import pytest

from metalog.scram import ScramCredential
from metalog_node.auth.scram_messages import (
    ClientFinal,
    ClientFirst,
    read_client_final,
    read_client_first,
    server_final,
    server_first,
)

EXTENSIONS = ["x=1", "abc=d e=f", "k=!$[]()", "first=1,second=2 = 3"]
BROKEN_EXTENSIONS = ["x1=1", "x", "x=1,2", "x=,", "x =1", "=1", ""]


@pytest.mark.parametrize("extensions", ["", *(f",{each}" for each in EXTENSIONS)])
@pytest.mark.parametrize(
    ("header", "authorization"),
    [("n,,", ""), ("y,,", ""), ("n,a=eve,", "eve"), ("n,a=e=2Cve,", "e,ve")],
)
def test_a_first_message_has_these_parts(header: str, authorization: str, extensions: str) -> None:
    bare = f"n=al=3Di=2Cce,r=a+/!~{extensions}"
    assert read_client_first(header + bare) == ClientFirst(
        header, authorization, "al=i,ce", "a+/!~", False, bare
    )


@pytest.mark.parametrize(
    ("extensions", "is_by_token"),
    [("tokenauth=true", True), ("x=y,tokenauth=TRUE", True), ("tokenauth=no", False)],
)
def test_who_logs_in_by_a_token_is_known(extensions: str, is_by_token: bool) -> None:
    assert read_client_first(f"n,,n=alice,r=abc,{extensions}").is_by_token is is_by_token


@pytest.mark.parametrize(
    "message",
    [
        *("", "n,n=alice,r=abc", "n,x=y,n=alice,r=abc", "p=tls-unique,,n=alice,r=abc"),
        *("n,,m,n=alice,r=abc", "n,,m=a,b,n=alice,r=abc", "n,,m=must,n=alice,r=abc"),
        *("n,,n=al=ice,r=abc", "n,,n=al\0ice,r=abc", "n,,n=,r=abc", "n,,n=alice,r="),
        *("n,,n=alice,r=a\x20c", "n,,n=alice,r=a\x7fc", "n,,r=abc,n=alice", "n,,n=alice"),
        *(f"n,,n=alice,r=abc,{each}" for each in BROKEN_EXTENSIONS),
    ],
)
def test_a_first_message_that_is_none_is_refused_without_its_text(message: str) -> None:
    with pytest.raises(ValueError, match=r"^a first message that is not valid by RFC 5802$"):
        read_client_first(message)


@pytest.mark.parametrize("extensions", ["", *(f",{each}" for each in EXTENSIONS)])
def test_a_final_message_has_these_parts(extensions: str) -> None:
    bare = f"c=biws,r=abc{extensions}"
    assert read_client_final(f"{bare},p=AQI=") == ClientFinal(b"n,,", "abc", b"\1\2", bare)


@pytest.mark.parametrize(
    "message",
    [
        *("", "c=biw,r=abc,p=AQI=", "c=biws,r=abc,p=123", "c=biws,r=abc", "r=abc,c=biws,p=AQI="),
        *("c=biws,r=abc,p=AQI=,x=1", "c=biws,r=,p=AQI=", "c=biws,p=AQI=", "c=b*ws,r=abc,p=AQI="),
        *(f"c=biws,r=abc,{each},p=AQI=" for each in BROKEN_EXTENSIONS),
    ],
)
def test_a_final_message_that_is_none_is_refused_without_its_text(message: str) -> None:
    with pytest.raises(ValueError, match=r"^a final message that is not valid by RFC 5802$"):
        read_client_final(message)


def test_a_final_message_shows_nothing_of_the_proof() -> None:
    assert repr(read_client_final("c=biws,r=abc,p=AQI=")) == "ClientFinal([hidden])"


def test_what_the_server_says() -> None:
    credential = ScramCredential(b"salt", b"stored", b"server", 8192)
    assert server_first("nonce", credential) == "r=nonce,s=c2FsdA==,i=8192"
    assert server_final(b"\1\2") == "v=AQI="
