"""All forms of a question have the same meaning."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from metalog.errors import InvalidRequest
from shell.main import TABLE, main
from shell.options import PATHS, build_parser, parse
from tests.support.command.runs import Run
from tests.support.kafka.cases import DEMO, REPOSITORY

LOG_DIR = str(DEMO / "log-dir")
AUDIT_LINE = (
    "Principal = User:billing is Denied operation = READ from host = 10.0.4.12 on resource = "
    "Topic:LITERAL:payments for request = Fetch with resourceRefCount = 1 "
    "based on rule DefaultDeny"
)
STANDARD = "authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer\n"
FORMS = [
    ["User:billing", "READ", "topic:payments", "--host", "10.0.4.12"],
    ["--host=10.0.4.12", "User:billing", "read", "Topic:payments"],
    ["User:billing", "--host", "10.0.4.12", "Read", "TOPIC:LITERAL:payments"],
    ["--principal=User:billing", "--operation=Read", "--topic=payments", "--host=10.0.4.12"],
    ["--allow-principal=User:billing", "read", "topic:payments", "--allow-host=10.0.4.12"],
    ["User:billing", "read", "--topic", "payments", "--host", "10.0.4.12"],
    [AUDIT_LINE],
    [f"[2026-11-21 18:44:57,336] INFO {AUDIT_LINE} (kafka.authorizer.logger)"],
    AUDIT_LINE.split(),
    [f'  "{AUDIT_LINE}"  '],
    [f"'{AUDIT_LINE}'"],
    [f'{{"level": "INFO", "message": "{AUDIT_LINE}"}}'],
    [
        AUDIT_LINE.replace(" on resource", "\n on resource").replace("payments", "pay\r\nments")
        + "\n"
    ],
]


@pytest.fixture
def answer(capsys: pytest.CaptureFixture[str]) -> Any:
    def answered(*arguments: str) -> tuple[int, list[dict[str, Any]], str]:
        code = main([*arguments, "--json"])
        printed = capsys.readouterr()
        return code, [json.loads(line) for line in printed.out.splitlines()], printed.err

    return answered


@pytest.mark.parametrize("form", FORMS)
def test_every_form_is_the_same_question(form: list[str], answer: Any) -> None:
    for verb, code in (("can", 0), ("explain", 0)):
        got_code, [got], _ = answer(verb, LOG_DIR, *form)
        assert got_code == code
        asked = ("principal", "host", "operation", "resourceType", "resourceName", "result")
        assert [got[key] for key in asked] == [
            "User:billing", "10.0.4.12", "READ", "TOPIC", "payments", "ALLOWED"
        ]  # fmt: skip


def test_a_principal_with_a_blank_is_no_audit_line_beside_options(answer: Any) -> None:
    """A certificate's name can have blanks: ``User:CN=app,O=Book Shop``."""
    words = ("User:CN=app,O=Book Shop", "--operation", "READ", "--topic", "orders")
    _, [got], _ = answer("can", LOG_DIR, *words)
    assert got["principal"] == words[0]


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["User:a"],
        ["User:a", "read"],
        ["User:a", "read", "topic:t", "topic:u"],
        ["User:a", "read", "topic:t", "--group", "g"],
        ["--principal", "User:a", "--topic", "t"],
    ],
)
def test_what_is_no_question(words: list[str], answer: Any) -> None:
    code, lines, err = answer("can", LOG_DIR, *words)
    assert (code, lines) == (2, [])
    assert err.count("\n") == 1
    assert "ask" in err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ["User:a", "topic:t", "read"],
            "'topic:t' is not an operation; ask with PRINCIPAL OPERATION",
        ),
        (
            ["read", "User:a", "topic:t"],
            "'User:a' is not an operation; ask with PRINCIPAL OPERATION",
        ),
        (["User:a", "read", "topic", "t"], "'t' is one word too many; ask with PRINCIPAL"),
        (["User:a", "read"], "the question names no resource; ask with PRINCIPAL OPERATION"),
        (["User:a"], "the question names no operation; ask with PRINCIPAL OPERATION"),
        (["--topic", "t"], "metalog: ask with PRINCIPAL OPERATION"),
        (["--operation", "read", "--topic", "t"], "the question names no principal; ask with"),
        (
            ["User:a", "read", "topic:t", "--principal", "User:b"],
            "with --principal, 'User:a read topic:t' has too many words; ask with PRINCIPAL",
        ),
        (["User:a", "read", "topic"], "resource 'topic' has no name; write it as topic:NAME"),
        (["User:a", "read", "payments"], "'payments' has no type; write it as topic:payments"),
        (["a", "read", "topic:t"], "'a' has no type; write it as User:a"),
        (["User:a read topic:t"], "'User:a read topic:t' is not an audit line of Kafka"),
        ([f"{AUDIT_LINE}\n{AUDIT_LINE}"], "several audit lines; give them to --audit"),
    ],
)
def test_what_is_asked_the_wrong_way_is_told_the_right_one(
    words: list[str], said: str, answer: Any
) -> None:
    code, lines, err = answer("can", LOG_DIR, *words)
    assert (code, lines, err.count("\n")) == (2, [], 1)
    assert said in err


def test_a_principal_that_kafka_itself_never_makes_is_pointed_out(answer: Any) -> None:
    _, _, err = answer("can", "@demo", "Group:admins", "read", "topic:payments")
    assert "note: Kafka itself names clients User:… only; Group:admins needs a " in err
    _, _, err = answer("can", "@demo", "User:billing", "read", "topic:payments")
    assert err == ""
    _, _, err = answer("can", "@demo", "User:billing", "read", "cluster")
    assert err == "note: Kafka never checks READ on a cluster\n"
    _, _, err = answer("can", "@demo", "User:billing", "alter", "cluster:prod")
    called = "note: Kafka's cluster is always called kafka-cluster"
    assert err == f"{called}: write cluster, without a name\n"
    assert answer("who-can", "@demo", "alter", "cluster:prod")[2] == err


@pytest.mark.parametrize("host", ["*", "10.0.4", "10.0.0.0/8", "broker-1.example.com", ""])
def test_a_host_that_no_client_has_is_pointed_out(host: str, answer: Any) -> None:
    _, [got], err = answer("can", LOG_DIR, "User:billing", "read", "topic:payments", "--host", host)
    assert got["host"] == host
    assert "note: no client has the host " in err
    for question in (("access", LOG_DIR, "User:billing"), ("who-can", LOG_DIR, "Read", "topic:t")):
        _, _, err = answer(*question, "--host", host)
        assert err.count("note: no client has the host ") == 1


def test_a_host_is_asked_as_java_writes_it(answer: Any) -> None:
    _, [got], err = answer("can", LOG_DIR, "User:a", "read", "topic:t", "--host", "::1")
    assert got["host"] == "0:0:0:0:0:0:0:1"
    assert "brokers write ::1 as 0:0:0:0:0:0:0:1" in err


def test_without_a_host_it_says_which_hosts_would_change_the_answer(answer: Any) -> None:
    code, [got], _ = answer("can", LOG_DIR, "User:billing", "read", "topic:payments")
    assert (code, got["host"], got["result"]) == (1, None, "DENIED")
    assert [(each["host"], each["result"]) for each in got["hosts"]] == [("10.0.4.12", "ALLOWED")]


def test_unknown_names_are_pointed_out_with_the_nearest(answer: Any) -> None:
    _, [got], err = answer("can", LOG_DIR, "User:biling", "read", "topic:paymnts")
    assert got["unknown"] == [
        {"what": "principal", "name": "User:biling", "nearest": "User:billing"},
        {"what": "topic", "name": "paymnts", "nearest": "payments"},
    ]
    assert "did you mean User:billing?" in err
    _, [got], err = answer("can", LOG_DIR, "User:billing", "read", "group:frud-check")
    assert "did you mean fraud-check?" in err


def test_what_was_assumed_is_said_and_carried(answer: Any, tmp_path: Any) -> None:
    question = ("User:admin", "read", "topic:orders")
    code, [got], err = answer("can", LOG_DIR, *question)
    assert code == 1
    assert got["assumed"] == ["super.users=", "allow.everyone.if.no.acl.found=false"]
    assert "assumed super.users= and allow.everyone.if.no.acl.found=false" in err
    code, [got], err = answer("can", LOG_DIR, *question, "--super-users", "User:admin")
    assert (code, got["rule"]) == (0, "SuperUser")
    assert got["assumed"] == ["allow.everyone.if.no.acl.found=false"]
    config = tmp_path / "server.properties"
    config.write_text(f"{STANDARD}super.users=User:root;User:admin\n")
    code, [got], err = answer("can", LOG_DIR, *question, "--config", str(config))
    assert (code, got["assumed"], err) == (0, [], "")
    code, [got], err = answer("can", "@demo", *question)
    assert (code, got["assumed"], err) == (0, [], "")


def test_an_answer_says_how_far_it_is_proven(answer: Any) -> None:
    """As status does; a store has no offsets."""
    _, [status], _ = answer("status", LOG_DIR)
    question = ("User:a", "read", "topic:t")
    keys = ("readTo", "provenCommit")
    for arguments in (("can", *question), ("explain", *question)):
        _, [got], _ = answer(arguments[0], LOG_DIR, *arguments[1:])
        assert [got[key] for key in keys] == [status[key] for key in keys] != [0, 0]
    store = REPOSITORY / "docs" / "guide" / "acls"
    _, [got], _ = answer("can", str(store), *question)
    assert [got[key] for key in keys] == [None, None]


def test_allow_everyone_is_for_what_no_acl_reaches(answer: Any) -> None:
    question = ("User:x", "create-tokens", "user:User:y")
    code, [got], _ = answer("can", LOG_DIR, *question, "--allow-everyone")
    assert (code, got["rule"]) == (0, "DefaultAllow")
    code, [got], _ = answer("can", LOG_DIR, *question, "--no-allow-everyone")
    assert (code, got["rule"]) == (1, "DefaultDeny")


def test_a_moment_may_begin_with_a_minus(answer: Any) -> None:
    for arguments in (("--at", "-5s"), ("--at=-5s",)):
        code, _, err = answer("acls", LOG_DIR, *arguments)
        assert code == 0
        assert "note: as of 20" in err


def test_audit_lines_are_grouped_and_counted(answer: Any, tmp_path: Any) -> None:
    log = tmp_path / "kafka-authorizer.log"
    other = AUDIT_LINE.replace("payments", "orders")
    log.write_text("\n".join([other, AUDIT_LINE, AUDIT_LINE, ""]))
    code, groups, err = answer("can", "@demo", "--audit", str(log))
    assert [(each["resourceName"], each["count"], each["result"]) for each in groups] == [
        ("payments", 2, "ALLOWED"),
        ("orders", 1, "DENIED"),
    ]
    assert {each["logged"] for each in groups} == {"DENIED"}
    assert (code, err) == (1, "")
    log.write_text(json.dumps({"time": "2026-01-01T00:00:00Z", "log": f"{AUDIT_LINE}\n"}))
    assert answer("can", "@demo", "--audit", str(log))[1] == [{**groups[0], "count": 1}]
    log.write_text(f"{AUDIT_LINE}\nnot one\n")
    code, groups, err = answer("can", "@demo", "--audit", str(log))
    assert (code, len(groups)) == (2, 1)
    assert f"{log}, line 2: not an audit line" in err


def test_an_answer_that_is_not_kafkas_of_then_is_pointed_out(answer: Any) -> None:
    _, _, err = answer("explain", "@demo", AUDIT_LINE)
    assert "Kafka said DENIED when it wrote the line" in err


def test_a_number_of_too_many_digits_is_no_question(answer: Any, tmp_path: Path) -> None:
    """Python refuses to convert more than 4,300."""
    (tmp_path / "asked.jsonl").write_text('{"principal": "User:a", "host": ' + "9" * 5001 + "}\n")
    code, _, err = answer("can", "@demo", "--requests", str(tmp_path / "asked.jsonl"))
    assert code == 2
    assert "line 1: this is not JSON: a number has too many digits" in err


def test_a_key_of_a_request_in_another_case_is_refused(answer: Any, tmp_path: Path) -> None:
    """Otherwise a misspelt ``Host`` would silently mean any host."""
    request = {"principal": "User:a", "operation": "READ", "resourceType": "TOPIC"}
    (tmp_path / "asked.jsonl").write_text(
        json.dumps({**request, "resourceName": "t", "Host": "1.1.1.1"})
    )
    code, _, err = answer("can", "@demo", "--requests", str(tmp_path / "asked.jsonl"))
    assert (code, "line 1: unknown key 'Host': write host" in err) == (2, True)


def test_explain_has_all_there_is_to_say(answer: Any) -> None:
    _, [got], _ = answer("explain", "@demo", "User:billing", "read", "topic:payments-eu")
    keys = "principal host operation resourceType resourceName result rule acl assumed"
    more = "candidates nearMisses remedies since"
    assert {*keys.split(), *more.split()} <= set(got)
    assert got["since"]["cause"] == "REMOVED"
    question = ("User:billing", "read", "topic:payments-eu")
    for at, result in ((got["since"]["at"], "DENIED"), (got["since"]["at"] - 1, "ALLOWED")):
        _, [was], _ = answer("can", "@demo", *question, "--at", str(at))
        assert was["result"] == result


def test_explain_and_history_print_one_moment_beside_a_change(
    capsys: pytest.CaptureFixture[str],
) -> None:
    question = ("User:billing", "read", "topic:payments-eu")
    main(["explain", LOG_DIR, *question])
    [said] = re.findall(r"^since +(--at \d+), (\S+), when", capsys.readouterr().out, re.M)
    assert main(["history", LOG_DIR, *question]) == 0
    newest = capsys.readouterr().out.splitlines()[1]
    assert newest.split("  ")[1:3] == list(said)


def test_nobody_is_answered_before_the_first_committed_record(answer: Any) -> None:
    question = ("User:a", "read", "topic:t", "--at", "0")
    code, lines, err = answer("can", LOG_DIR, *question)
    assert (code, lines) == (2, [])
    assert "no committed metadata record was read" in err
    assert answer("can", LOG_DIR, *question, "--super-users", "User:a")[0] == 0


OTHER = "authorizer.class.name=com.example.Audited\n"
KIP_11 = "authorizer.class.name=kafka.security.auth.SimpleAclAuthorizer\n"


@pytest.mark.parametrize(
    ("text", "code", "said"),
    [
        (f"node.id=1\n{STANDARD}", 1, ""),
        (f"node.id=1\n{KIP_11}", 1, "SimpleAclAuthorizer can decide differently"),
        (f"node.id=1\n{OTHER}", 1, "com.example.Audited can decide differently"),
        ("super.users=User:root\n", 1, "allows everything; metalog still decides by the ACLs"),
        ("node.id=1\nsuper.users=User:root\n", 2, "give the configuration of a node that has one"),
        ("node.id=1\nlisteners=PLAINTEXT://:9092\n", 2, "Kafka without an authorizer allows"),
        (
            "broker.id=1\nauthorizer.class.name=\n",
            2,
            "Kafka without an authorizer allows everything",
        ),
    ],
)
def test_where_kafka_has_no_authorizer_denied_is_no_answer(
    text: str, code: int, said: str, answer: Any, tmp_path: Any
) -> None:
    """A partial configuration may leave out the class, a node's own may not."""
    config = tmp_path / "server.properties"
    config.write_text(text)
    got = answer("can", LOG_DIR, "User:nobody", "read", "topic:x", "--config", str(config))
    assert got[0] == code
    assert said in got[2]
    assert ("decide differently" in got[2] or "allows everything" in got[2]) == bool(said)


def test_what_does_not_decide_says_that_kafka_has_no_authorizer(run: Run, tmp_path: Path) -> None:
    config, wanted = tmp_path / "server.properties", tmp_path / "acls.yaml"
    config.write_text("node.id=1\nlisteners=PLAINTEXT://:9092\n")
    wanted.write_text("acls: []\n")
    for words in (("lint", LOG_DIR), ("plan", LOG_DIR, wanted)):
        done = run(*words, "--config", config)
        assert done.returncode in (0, 1)
        assert "Kafka without an authorizer allows everything" in done.stderr


BY_SUPER_USER = AUDIT_LINE.replace("Denied", "Allowed").replace("DefaultDeny", "SuperUser")


def test_a_line_tells_that_its_principal_was_a_super_user(answer: Any) -> None:
    """As Kafka logged it: without a configuration nothing else is known."""
    line = BY_SUPER_USER.replace("billing", "root")
    for verb in ("can", "explain"):
        code, [got], err = answer(verb, LOG_DIR, line)
        assert (code, got["result"], got["rule"]) == (0, "ALLOWED", "SuperUser")
        assert "super.users=User:root" in got["assumed"]
        assert "note: User:root: a super user, because its line has the rule SuperUser" in err
    code, [got], err = answer("can", LOG_DIR, line, "--super-users", "User:other")
    assert (code, got["result"]) == (1, "DENIED")
    assert "the configuration differs from that of the broker that wrote the line" in err
    assert "User:root was a super user at the broker, and is not one here" in err
    _, _, err = answer("can", LOG_DIR, AUDIT_LINE, "--super-users", "User:billing")
    assert "User:billing is a super user here, and was not one at the broker" in err


def test_a_line_tells_that_everything_was_allowed(answer: Any) -> None:
    line = AUDIT_LINE.replace("Denied", "Allowed").replace("DefaultDeny", "DefaultAllow")
    line = line.replace("Topic:LITERAL:payments", "DelegationToken:LITERAL:nobody")
    code, [got], _ = answer("can", LOG_DIR, line)
    assert (code, got["rule"]) == (0, "DefaultAllow")
    code, [got], err = answer("can", LOG_DIR, line, "--no-allow-everyone")
    assert code == 1
    assert "allow.everyone.if.no.acl.found was true at the broker, and is false here" in err


def test_many_lines_tell_it_too(answer: Any, tmp_path: Path) -> None:
    log = tmp_path / "audit.log"
    log.write_text(f"{AUDIT_LINE}\n{BY_SUPER_USER.replace('billing', 'root')}\n")
    code, got, _ = answer("can", LOG_DIR, "--audit", str(log))
    assert code == 0
    assert {(each["principal"], each["rule"]) for each in got} == {
        ("User:billing", "MatchingAcl"),
        ("User:root", "SuperUser"),
    }


CUT_FROM = AUDIT_LINE.index(" for request = ") + len(" f")


@pytest.mark.parametrize("end", range(CUT_FROM, len(AUDIT_LINE)))
def test_a_line_cut_off_at_its_end_is_said_to_be_that(end: int, answer: Any) -> None:
    """Wherever it was cut after the resource's name; only an older Kafka's line ends after its
    count."""
    code, [got], err = answer("can", LOG_DIR, AUDIT_LINE[:end])
    assert (code, got["principal"], got["resourceName"]) == (0, "User:billing", "payments")
    assert "readable in two ways" not in err
    assert "can be read in two ways" not in err
    is_whole = AUDIT_LINE[:end].rstrip().endswith("resourceRefCount = 1")
    assert is_whole or "note: the end of the line is missing" in err


def test_a_line_cut_off_within_its_acl(answer: Any) -> None:
    rule = "MatchingAcl(acl=StandardAcl[resourceType=TOPIC, resourceName=pay"
    _, _, err = answer("can", LOG_DIR, AUDIT_LINE.replace("DefaultDeny", rule))
    assert "note: the end of the line is missing" in err


def test_a_name_that_repeats_a_verdict_is_still_an_alarm(answer: Any) -> None:
    forged = AUDIT_LINE.replace("User:billing is", f"User:x {AUDIT_LINE} is")
    for line in (forged, forged[:-4]):
        _, _, err = answer("can", LOG_DIR, line)
        assert "can be read in two ways" in err


def test_the_time_of_a_line_is_offered(answer: Any) -> None:
    dated = f"[2026-11-21 18:44:57,336] INFO {AUDIT_LINE} (kafka.authorizer.logger)"
    offer = "--at 2026-11-21T18:44:57.336Z"
    _, _, err = answer("explain", LOG_DIR, dated)
    assert f"note: for the state at the time of the line: {offer}" in err
    _, _, err = answer("explain", LOG_DIR, dated, *offer.split())
    assert "at the time of the line" not in err
    _, _, err = answer("explain", LOG_DIR, AUDIT_LINE)
    assert "at the time of the line" not in err


def test_a_line_from_stdin(run: Run) -> None:
    for verb in ("can", "explain"):
        done = run(verb, LOG_DIR, "-", stdin=f"{AUDIT_LINE}\n")
        assert done.stdout.startswith("ALLOWED"), done.stderr
    done = run("explain", LOG_DIR, "-", stdin=f"{AUDIT_LINE}\n{AUDIT_LINE}\n")
    assert done.returncode == 2
    assert "--audit" in done.stderr
    assert run("explain", LOG_DIR, "-", stdin="").returncode == 2


@pytest.mark.parametrize("end", ["", "\n"], ids=["one line", "many lines"])
def test_too_much_on_stdin_is_called_too_much_not_several_lines(run: Run, end: str) -> None:
    done = run("can", LOG_DIR, "-", stdin=(AUDIT_LINE + end) * ((1 << 20) // len(AUDIT_LINE) + 1))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "metalog: stdin has more than 1 MiB, too much for one audit line; "
        "for several lines, use --audit -\n"
    )


@pytest.mark.parametrize(
    "words",
    [
        ["User:\udcff", "read", "topic:t"],
        ["User:a", "read", "topic:\ud800"],
        ["User:a", "read", "topic:t", "--host", "\udcff"],
    ],
)
def test_a_name_that_is_not_unicode_has_no_answer(words: list[str], answer: Any) -> None:
    for verb in ("can", "explain"):
        code, lines, err = answer(verb, LOG_DIR, *words)
        assert (code, lines) == (2, [])
        assert "is not Unicode" in err


def test_no_verb_takes_a_name_that_is_not_unicode() -> None:
    """In every option and argument except paths, which may be any bytes."""
    tried = 0
    for verb, _, module in TABLE.commands():
        parser = build_parser(verb, "", module)
        actions = parser._actions
        needed = [
            str(next(iter(each.choices))) if each.choices else "x"
            for each in actions
            if not each.option_strings and each.nargs != "*"
        ]
        for each in actions:
            needed += (
                [each.option_strings[-1], "x"] if each.option_strings and each.required else []
            )
        for action in actions:
            if action.nargs == 0 or action.choices or action.type or action.metavar in PATHS:
                continue
            value = "User:caf\udce9"
            if action.option_strings:
                words = [*needed, action.option_strings[-1], value]
            elif action.nargs in ("*", "?"):
                words = [*needed, value]
            else:
                words = [value if word == "x" else word for word in needed]
            with pytest.raises(InvalidRequest, match="is not Unicode"):
                parse(parser, words)
            tried += 1
    assert tried > 50


def test_names_that_are_not_unicode_in_filters(answer: Any) -> None:
    for line in (
        "acls SOURCE --principal NAME",
        "acls SOURCE --topic NAME",
        "who-can SOURCE read topic:NAME",
        "access SOURCE NAME",
        "history SOURCE --principal NAME",
        "shell SOURCE -- ls /acl/NAME",
    ):
        words = line.replace("SOURCE", str(LOG_DIR)).replace("NAME", "User:caf\udce9").split()
        code, lines, err = answer(*words)
        assert (code, lines) == (2, []), line
        assert "is not Unicode" in err, line
    assert main(["kafka-acls", LOG_DIR, "--list", "--group", "caf\udce9"]) == 2


def test_a_path_may_be_any_bytes(tmp_path: Path, answer: Any) -> None:
    folder = tmp_path / "caf\udce9"
    folder.symlink_to(LOG_DIR)
    code, _, err = answer("can", str(folder), "User:a", "read", "topic:t")
    assert (code, "is not Unicode" in err) == (1, False)


@pytest.mark.parametrize(
    ("line", "option", "place"),
    [
        ("super.users=User:a;root", None, "FILE, line 2: super.users: 'root'"),
        ("super.users=User:a", "root", "--super-users: 'root'"),
        ("super.users=User:a,User:b", None, "FILE, line 2: super.users: 'User:a,User:b'"),
        ("super.users=User:a", "User:b,User:c", "--super-users: 'User:b,User:c'"),
        ("kafka.version=3.9", "User:b", "FILE, line 2: kafka.version=3.9"),
        ("super.users=root\ns=1\n=1", None, "FILE, line 2: super.users: 'root'"),
        ("s=1", "root", "--super-users: 'root'"),
    ],
)
def test_a_fault_of_the_configuration_names_the_line_or_option_that_has_it(
    line: str, option: str | None, place: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "server.properties"
    config.write_text(f"{STANDARD}{line}\n")
    options = ["--config", str(config), *([] if option is None else ["--super-users", option])]
    main(["can", LOG_DIR, "User:a", "read", "topic:t", *options])
    first = capsys.readouterr().err.splitlines()[0]
    assert first.split(": ", 1)[1].startswith(place.replace("FILE", str(config)))
