import pytest

from metalog.config.properties import Property, parse_properties, properties_mapping


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a=b", [("a", "b", 1)]),
        ("a:b", [("a", "b", 1)]),
        ("a b", [("a", "b", 1)]),
        ("a \t=\f b ", [("a", "b ", 1)]),
        ("a==b", [("a", "=b", 1)]),
        ("a", [("a", "", 1)]),
        ("=b", [("", "b", 1)]),
        ("  a = b", [("a", "b", 1)]),
        ("# a=b\n! c=d\n\n  #e=f\ng=h", [("g", "h", 5)]),
        ("a=1\r\nb=2\rc=3\n", [("a", "1", 1), ("b", "2", 2), ("c", "3", 3)]),
        ("a=b,\\\n   c,\\\r\n\td\ne=f", [("a", "b,c,d", 1), ("e", "f", 4)]),
        ("a=b\\\n# no comment", [("a", "b# no comment", 1)]),
        ("a=b\\\\\nc=d", [("a", "b\\", 1), ("c", "d", 2)]),
        ("a=b\\", [("a", "b", 1)]),
        ("\\\n# a=b\nc=d", [("c", "d", 3)]),
        ("\\\n\n  a=b", [("a", "b", 3)]),
        ("\\\na=b", [("a", "b", 2)]),
        ("\\\n", [("", "", 1)]),
        ("a\\ b\\=c\\:d=e", [("a b=c:d", "e", 1)]),
        ("a=\\t\\n\\r\\f\\q\\\\", [("a", "\t\n\r\fq\\", 1)]),
        ("a=\\u00e9\\u20AC", [("a", "é€", 1)]),
        ("a=\\uD83D\\uDE00", [("a", "😀", 1)]),
        ("super.users=User:CN=x,O=y;User:b", [("super.users", "User:CN=x,O=y;User:b", 1)]),
        ("a=1\na=2", [("a", "1", 1), ("a", "2", 2)]),
    ],
)
def test_java_reads_it_so(text: str, expected: list[tuple[str, str, int]]) -> None:
    assert parse_properties(text.encode()) == [Property(*each) for each in expected]


def test_bytes_are_latin_1() -> None:
    assert parse_properties(b"a=\xe9") == [Property("a", "é", 1)]


def test_the_last_of_a_repeated_key_counts() -> None:
    assert properties_mapping(parse_properties(b"a=1\nb=2\na=3")) == {"a": "3", "b": "2"}


@pytest.mark.parametrize("text", ["a=\\u12", "a=\\u12g4", "a=\\u", "a=\\u+123"])
def test_a_broken_unicode_escape_is_refused_with_its_line(text: str) -> None:
    with pytest.raises(ValueError, match="line 2"):
        parse_properties(f"#\n{text}".encode())
