"""``metalog format``: its options, what it refuses, and what it never prints."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from metalog import DirectoryLog
from metalog.acl import Operation
from metalog.errors import InvalidRequest
from metalog.records.messages import AccessControlEntryRecord, UserScramCredentialRecord
from metalog.scram import ScramMechanism, credential_of, salted_password
from metalog_node.config.listeners import NO_ROLES
from metalog_sources.replay import replay_source
from metalog_sources.source import open_source
from shell.arguments.acl_line import parse_acl_line
from shell.arguments.scram_line import parse_scram_line
from shell.main import main
from shell.tasks.broker.node_config import node_config
from tests.support.command.runs import Run
from tests.support.worlds.small_acls import deny

DIRECTORY = "JEXY6aqzQY-32P5TStzaFg"
CONTROLLER = {
    "process.roles": "broker,controller",
    "node.id": "7",
    "controller.listener.names": "C",
    "listeners": "PLAINTEXT://:9092,C://:9093",
    "controller.quorum.bootstrap.servers": "localhost:9093",
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
}


def written(tmp_path: Path, **properties: str) -> Path:
    file = tmp_path / "server.properties"
    settings = {**CONTROLLER, **{key.replace("_", "."): value for key, value in properties.items()}}
    file.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
    return file


def first_records(folder: Path) -> list[object]:
    batches = DirectoryLog(folder).bootstrap()
    assert batches is not None
    return [message for batch in batches if not batch.is_control for message in batch.messages()]


def test_users_and_acls_are_there_from_the_start(tmp_path: Path, run: Run) -> None:
    folder, users = tmp_path / "node", tmp_path / "users.txt"
    users.write_text("# ours\nSCRAM-SHA-512=[name=bob,password=b0b-secret,iterations=8192]\n")
    done = run(
        "format", folder, "--json", "--add-scram", "SCRAM-SHA-256=[name=al,password=al-secret]",
        "--add-scram-file", users, "--add-acl", "allow User:app read,write topic:payments",
    )  # fmt: skip
    assert done.returncode == 0
    assert json.loads(done.stdout)["kind"] == "dynamic metadata voter directory"
    assert "can be seen by others" in done.stderr
    records = first_records(folder)
    found = [each for each in records if isinstance(each, UserScramCredentialRecord)]
    assert [(user.name, user.iterations) for user in found] == [("al", 4096), ("bob", 8192)]
    mechanism = ScramMechanism.SCRAM_SHA_512
    salted = salted_password(mechanism, "b0b-secret", found[1].salt, 8192)
    assert credential_of(mechanism, salted, found[1].salt, 8192).stored_key == found[1].stored_key
    acls = [each for each in records if isinstance(each, AccessControlEntryRecord)]
    assert [(acl.principal, acl.resource_name, acl.operation) for acl in acls] == [
        ("User:app", "payments", Operation.READ),
        ("User:app", "payments", Operation.WRITE),
    ]
    for secret in ("al-secret", "b0b-secret", found[0].salt.hex(), found[0].stored_key.hex()):
        assert secret not in done.stdout + done.stderr


def test_settings_of_a_client_are_refused_if_no_import_connects(tmp_path: Path, run: Run) -> None:
    done = run("format", tmp_path / "node", "--command-config", "client.properties")
    assert (done.returncode, done.stdout) == (2, "")
    assert "--command-config: no source is a Kafka cluster; leave it out" in done.stderr
    assert not (tmp_path / "node").exists()


@pytest.mark.parametrize(
    ("release", "host", "refusal"),
    [
        ("4.3", "10.0.0.0/33", ""),
        ("4.4", "10.0.0.0/8", ""),
        ("4.4", "10.0.0.0/33", "Invalid CIDR notation '10.0.0.0/33'"),
    ],
)
def test_a_host_is_taken_as_by_the_kafka_that_will_start(
    tmp_path: Path, run: Run, release: str, host: str, refusal: str
) -> None:
    """A host that Kafka would refuse is not in the first records either."""
    folder = tmp_path / "node"
    acl = f"allow User:app read topic:payments --host '{host}'"
    done = run("format", folder, "--release-version", release, "--add-acl", acl)
    assert (done.returncode, folder.exists()) == ((2, False) if refusal else (0, True))
    assert refusal in done.stderr
    acls = [] if refusal else [a for a in first_records(folder) if hasattr(a, "host")]
    assert [acl.host for acl in acls] == ([] if refusal else [host])


def test_credentials_come_from_standard_input(tmp_path: Path, run: Run) -> None:
    line = "SCRAM-SHA-256=[name=eve,password=eve-secret]\n"
    done = run("format", tmp_path / "node", "--add-scram-file", "-", stdin=line)
    assert done.returncode == 0
    assert done.stderr == ""
    assert any(
        isinstance(each, UserScramCredentialRecord) for each in first_records(tmp_path / "node")
    )


@pytest.mark.parametrize("text", ["", "\n", "# SCRAM-SHA-256=[name=eve,password=eve-secret]\n"])
def test_input_without_a_credential_formats_nothing(tmp_path: Path, run: Run, text: str) -> None:
    """A command before the pipe failed, for example."""
    done = run("format", tmp_path / "node", "--add-scram-file", "-", stdin=text)
    assert done.returncode == 2
    assert "--add-scram-file -: no credential; nothing was formatted" in done.stderr
    assert not (tmp_path / "node").exists()


def test_what_another_folder_has_is_imported(tmp_path: Path, run: Run) -> None:
    """ACLs and credentials unchanged; a typed credential replaces an imported one."""
    old, new = tmp_path / "old", tmp_path / "new"
    file = tmp_path / "include-credentials.yaml"
    scram = "SCRAM-SHA-512=[name=a,password=a-secret]\nSCRAM-SHA-256=[name=b,password=b-secret]\n"
    acl = ("--add-acl", "ALLOW User:a READ,WRITE topic:t")
    run("format", old, "--add-scram-file", "-", *acl, stdin=scram)
    run("export", old, "--include-credentials", "--to", file)
    typed = "SCRAM-SHA-256=[name=b,password=another]\n"
    more = ("--add-acl", "ALLOW User:a READ topic:t", "--add-acl", "DENY User:b READ topic:t")
    options = ("--import", file, *more, "--add-scram-file", "-")
    assert run("format", new, *options, stdin=typed).returncode == 0
    kinds = (UserScramCredentialRecord, AccessControlEntryRecord)
    (users, acls), (old_users, _) = (
        [[each for each in first_records(folder) if isinstance(each, kind)] for kind in kinds]
        for folder in (new, old)
    )
    assert [each.operation for each in acls] == [Operation.READ, Operation.WRITE, Operation.READ]
    assert {each.name: each for each in users}["a"] == {each.name: each for each in old_users}["a"]
    assert users[1].stored_key != old_users[1].stored_key
    assert len(users) == 2


def test_users_without_credentials_are_left_out_aloud(tmp_path: Path, run: Run) -> None:
    old, file = tmp_path / "old", tmp_path / "old.jsonl"
    run("format", old, "--add-scram", "SCRAM-SHA-512=[name=a,password=a-secret]")
    run("export", old, "-o", "json", "--to", file)
    done = run("format", tmp_path / "new", "--import", file)
    assert "left out: 1 SCRAM user of --import without credentials" in done.stderr
    assert not any(
        isinstance(each, UserScramCredentialRecord) for each in first_records(tmp_path / "new")
    )


def test_all_folders_of_a_configuration_are_formatted(tmp_path: Path, run: Run) -> None:
    data, log = tmp_path / "data", tmp_path / "log"
    config = written(tmp_path, log_dirs=str(data), metadata_log_dir=str(log))
    done = run("format", "--config", config, "--standalone", "--cluster-id", "mine")
    assert done.stdout == (
        f"Formatted data directory {data} with metadata.version 4.3-IV0, node 7, cluster mine.\n"
        f"Formatted dynamic metadata voter directory {log} with metadata.version 4.3-IV0,"
        " node 7, cluster mine.\n"
    )
    assert DirectoryLog(log).voters.ids == (7,)
    again = run("format", log, "--config", config, "--standalone", "--ignore-formatted")
    assert again.stdout == "All of the log directories are already formatted.\n"


@pytest.mark.parametrize(
    ("changes", "options", "why"),
    [
        ({}, [], "no voters are configured"),
        ({"controller_quorum_voters": "7@h:1"}, ["--standalone"], "has controller.quorum.voters"),
        (
            {"controller_quorum_voters": "7@h:1"},
            ["-I", f"7@h:1:{DIRECTORY}"],
            "--initial-controllers needs controller.quorum.bootstrap.servers",
        ),
        ({"process_roles": "broker"}, ["--standalone"], "configures no controller"),
        ({"process_roles": ""}, [], NO_ROLES),
        ({"node_id": "x"}, [], "node.id must be a number"),
        ({}, ["--standalone", "--node-id", "8"], "has node.id=7"),
        ({}, ["/elsewhere", "--standalone"], "not in /elsewhere"),
        ({"listeners": "PLAINTEXT://:9092"}, ["--standalone"], "has no address for the listener C"),
        ({"zookeeper_connect": "z:2181"}, [], "zookeeper.connect"),
    ],
)
def test_a_configuration_that_does_not_fit_is_refused(
    tmp_path: Path, changes: dict[str, str], options: list[str], why: str, run: Run
) -> None:
    config = written(tmp_path, log_dirs=str(tmp_path / "log"), **changes)
    done = run("format", *options, "--config", config)
    assert done.returncode == 2
    assert why in done.stderr
    assert not (tmp_path / "log").exists()


def test_a_brokers_folders_need_no_voters(tmp_path: Path, run: Run) -> None:
    config = written(tmp_path, process_roles="broker", log_dirs=str(tmp_path / "log"))
    done = run("format", "--config", config, "-t", "mine")
    assert done.returncode == 0
    assert done.stdout.startswith("Formatted metadata directory")


def test_acls_that_nothing_enforces_are_pointed_out(tmp_path: Path, run: Run) -> None:
    config = written(tmp_path, log_dirs=str(tmp_path / "log"), authorizer_class_name="")
    acl = ("--add-acl", "DENY User:* ALL topic:secret. --prefixed")
    done = run("format", "--config", config, "-s", *acl)
    assert "nothing enforces the ACLs" in done.stderr


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (["--add-acl", "User:app READ topic:t"], "is not of the form ALLOW|DENY"),
        (["--add-acl", "ALLOW User:app topic:t READ"], "unknown operation 'topic:t'"),
        (["--add-acl", "ALLOW app READ topic:t"], "Could not parse principal"),
        (["--add-acl", "ALLOW User:app READ cluster:mine"], "kafka-cluster"),
        (["--add-scram", "SCRAM-SHA-1=[name=a,password=TOP]"], "begins with one of"),
        (["--add-scram", "SCRAM-SHA-256=[password=TOP]"], "has no name="),
        (["--add-scram", "SCRAM-SHA-256=[name=a,password=TOP,x]"], "each part as KEY=VALUE"),
        (["--add-scram", "SCRAM-SHA-256=[name=a,password=TOP,iterations=1]"], "4096 to 16384"),
        pytest.param(
            ["--add-scram", f"SCRAM-SHA-256=[name=a,password=TOP,iterations={'9' * 5_000}]"],
            "4096 to",
            id="iterations of 5,000 digits",
        ),
        (
            ["-r", "3.4", "--add-scram", "SCRAM-SHA-256=[name=a,password=TOP]"],
            "raise it to 3.5-IV2",
        ),
        (["-I", "1@x:9093"], "'1@x:9093' is not of the form ID@HOST:PORT:DIRECTORY-ID"),
        (["-I", f"1@x:70000:{DIRECTORY}"], "is not of the form"),
        (["-I", "1@x:9093:mine"], "'mine' is not a Kafka UUID (22 characters of base64url)"),
        (["-I", f"1@x:9093:{'a' * 22}"], "its last character is not A, Q, g or w"),
        (["-I", f"1@x:1:{DIRECTORY},1@y:2:{DIRECTORY}"], "node 1 is listed twice"),
        (["-I", f"1@x:1:{DIRECTORY}", "--standalone"], "not allowed with argument"),
        (["--feature", "kraft"], "write NAME=LEVEL"),
        (["--node-id", "-3"], "give 0 or more"),
        (["--add-scram", "SCRAM-SHA-256=[name=a,password=]"], "user a: the password is empty"),
        (["--add-scram", "SCRAM-SHA-256=[name=a,password=TOP\udcff]"], "is not Unicode"),
        (["-f", "kraft.version=0"], "kraft.version=0: "),
        (["-N", "-f", "kraft.version=0"], "kraft.version=0: "),
        (["-f", "kraft.version=7"], "kraft.version=7: "),
        (["--cluster-id", ""], "invalid cluster id ''"),
        (["--cluster-id", "x\nnode.id=7"], "for a random one"),
    ],
)
def test_nothing_is_written_and_no_secret_said_where_options_are_wrong(
    tmp_path: Path, options: list[str], why: str, run: Run
) -> None:
    done = run("format", tmp_path / "node", *options)
    assert done.returncode == 2
    assert why in done.stderr
    assert "TOP" not in done.stderr
    assert not (tmp_path / "node").exists()


@pytest.mark.parametrize(
    "written",
    [
        ["format"],
        ["archive", "@demo"],
        ["export", "@demo", "--split", "principal", "--to"],
        ["export", "@demo", "-o", "checkpoint", "--to"],
    ],
)
def test_the_name_of_a_source_is_not_a_folder_to_write(
    written: list[str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main([*written, "@demo"]) == 2
    assert "@demo is a SOURCE, not a folder; give a folder, or ./@demo" in capsys.readouterr().err
    assert not [*tmp_path.iterdir()]


def test_a_folder_can_have_the_name_of_a_source(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["format", "./@demo"]) == 0


def test_a_file_of_credentials_has_lines_that_end_at_lf_only(tmp_path: Path, run: Run) -> None:
    """A password may contain other line ends."""
    users = tmp_path / "users.txt"
    line = "SCRAM-SHA-256=[name={},password=TOP{}]"
    odd = line.format("odd", "\u2028\x0b\x85")
    users.write_text(f"# two users\n\n{line.format('a', '')}\r\n{odd}\n", newline="")
    done = run("format", tmp_path / "node", "--add-scram-file", users)
    assert done.returncode == 0, done.stderr
    image = replay_source(open_source(str(tmp_path / "node"), environ={})).image
    credential = image.scram.credential(ScramMechanism.SCRAM_SHA_256, "odd")
    assert credential is not None
    salted = salted_password(
        ScramMechanism.SCRAM_SHA_256, "TOP\u2028\x0b\x85", credential.salt, credential.iterations
    )
    assert credential == credential_of(
        ScramMechanism.SCRAM_SHA_256, salted, credential.salt, credential.iterations
    )

    for wrong, why in ((b"TOP\xff]", "not UTF-8"), (b"TOP", "write [name=")):
        users.write_bytes(b"# one user\nSCRAM-SHA-256=[name=a,password=" + wrong + b"\n")
        done = run("format", tmp_path / "other", "--add-scram-file", users)
        assert done.returncode == 2
        assert done.stderr.startswith(f"metalog: {users}, line 2: ")
        assert why in done.stderr
        assert "TOP" not in done.stderr
        assert not (tmp_path / "other").exists()


def test_the_words_of_an_acl() -> None:
    [acl] = parse_acl_line(
        "deny 'User:CN=a, O=b' describe_configs topic:secret. --prefixed --host ::1"
    )
    assert acl == deny(
        "secret.", Operation.DESCRIBE_CONFIGS, "User:CN=a, O=b", host="::1", prefixed=True
    )
    for bad in ("", "ALLOW User:a READ", "ALLOW User:a READ topic:t --host", "ALLOW 'x"):
        with pytest.raises(InvalidRequest):
            parse_acl_line(bad)


def test_the_words_of_a_credential() -> None:
    line = 'SCRAM-SHA-512=[name=alice,iterations=8192,salt="N3E=",saltedpassword="YCE="]'
    user = parse_scram_line(line)
    assert (user.name, user.iterations, user.salt, user.salted_password) == (
        "alice", 8192,
        b"7q", b"`!",
    )  # fmt: skip
    assert "YCE" not in repr(user)
    assert "`!" not in repr(user)
    for bad in ("saltedpassword=YCE=", "salt=*,password=p", "password=p,saltedpassword=YCE="):
        with pytest.raises(InvalidRequest):
            parse_scram_line(f"SCRAM-SHA-256=[name=a,{bad}]")


@pytest.mark.parametrize(
    ("components", "iterations", "salt", "password"),
    [
        ("name=bob,password=my pass", 4096, None, "my pass"),
        ('name="bob",password="my pass"', 4096, None, "my pass"),
        ("name=bob,password=my pass,iterations=8192", 8192, None, "my pass"),
        ('password=my pass,salt="N3E=",name=bob', 4096, b"7q", "my pass"),
    ],
)
def test_the_components_of_a_credential(
    components: str, iterations: int, salt: bytes | None, password: str
) -> None:
    for mechanism in ScramMechanism:
        user = parse_scram_line(f"{mechanism.mechanism_name}=[{components}]")
        assert user[:-1] == (mechanism, "bob", iterations, salt, password)


@pytest.mark.parametrize(
    "line",
    [
        "SCRAM-SHA-256",
        "SCRAM-SHA-UNSUPPORTED=[name=a,password=p]",
        "SCRAM-SHA-256=name=a,password=p",
        "SCRAM-SHA-256=[name=a,password=p",
        "SCRAM-SHA-256=name=a,password=p]",
        "SCRAM-SHA-256=[password=p]",
        "SCRAM-SHA-256=[name=a]",
        "SCRAM-SHA-256=[name,password=p]",
        'SCRAM-SHA-256=[name="",password=p]',
        "SCRAM-SHA-256=[name=,password=p]",
        "SCRAM-SHA-256=[name=a,password=p,unknown=something]",
        'SCRAM-SHA-256=[name=a,saltedpassword="YCE="]',
    ],
)
def test_what_kafka_refuses_as_a_credential_is_refused(line: str) -> None:
    with pytest.raises(InvalidRequest):
        parse_scram_line(line)


def test_the_first_folder_holds_the_log_unless_another_is_named() -> None:
    config = node_config({**CONTROLLER, "log.dirs": "/a, /b"}, "f")
    assert config.metadata_dir == Path("/a")
    assert config.directories == (Path("/a"), Path("/b"))
    assert config.controller == ("C", "localhost", 9093)
    with pytest.raises(InvalidRequest, match="C://host is not NAME://HOST:PORT"):
        node_config({**CONTROLLER, "listeners": "C://host"}, "f")
