"""A real quorum of three Kafka nodes, each broker and controller, to be killed by tests.

Each node is a process; all start at once. A node can be killed, frozen and started again. Each has
a second controller listener, SECURE, for clients that log in over TLS. This module must not know
the code under test.
"""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import subprocess
import time
from base64 import urlsafe_b64encode
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Self

from tests.support.kafka.tools import CLUSTER_ID, NO_CLEANER, START_LIMIT_S, KafkaTools, free_ports

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

NODES = (1, 2, 3)
FOLLOWER, NOBODY = "follower", "nobody"
"""Users of the SECURE listener; a test gives them permissions."""
PASSWORDS = {FOLLOWER: "follower=1", NOBODY: "nobody=1"}
_SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"
_PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
_STORE_PASSWORD = "of-the-store"


class KafkaQuorum:
    """``bootstrap`` are the brokers' addresses, ``controllers`` the controllers', by node."""

    def __init__(self, tools: KafkaTools, folder: Path, overrides: Mapping[str, str]) -> None:
        self.tools = tools
        self.folder = folder
        ports = iter(free_ports(3 * len(NODES)))
        self.brokers = {node: f"127.0.0.1:{next(ports)}" for node in NODES}
        self.controllers = {node: f"127.0.0.1:{next(ports)}" for node in NODES}
        self.secure_controllers = {node: f"127.0.0.1:{next(ports)}" for node in NODES}
        self.certificate = folder / "certificate.pem"
        self._processes: dict[int, subprocess.Popen[bytes]] = {}
        self._make_certificate()
        for node in NODES:
            self._configure(node, overrides)

    @classmethod
    @contextmanager
    def started(
        cls, tools: KafkaTools, folder: Path, overrides: Mapping[str, str] | None = None
    ) -> Iterator[KafkaQuorum]:
        quorum = cls(tools, folder, overrides or {})
        quorum._format()
        with quorum:
            yield quorum

    def __enter__(self) -> Self:
        try:
            self.start(*NODES)
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *exception: object) -> None:
        self.stop()

    @property
    def bootstrap(self) -> str:
        return ",".join(self.brokers.values())

    @property
    def controller_bootstrap(self) -> str:
        return ",".join(self.controllers.values())

    def metadata_dir(self, node: int) -> Path:
        return self._home(node) / "log-dir" / "__cluster_metadata-0"

    def output(self, node: int) -> Path:
        return self._home(node) / "server.out"

    def start(self, *nodes: int) -> None:
        """Start ``nodes`` at once, and wait for all of them."""
        for node in nodes:
            logging = "-Dorg.slf4j.simpleLogger.defaultLogLevel=info"
            config = self._home(node) / "server.properties"
            with self.output(node).open("wb") as output:
                self._processes[node] = subprocess.Popen(
                    self.tools.command("kafka.Kafka", config, logging=logging),
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=output,
                )
        deadline = time.monotonic() + START_LIMIT_S
        for node in nodes:
            while b"Kafka Server started" not in self.output(node).read_bytes():
                if self._processes[node].poll() is not None or time.monotonic() > deadline:
                    said = self.output(node).read_text(errors="replace")
                    raise RuntimeError(f"node {node} did not start:\n{said[-4000:]}")
                time.sleep(0.1)

    def kill(self, node: int) -> None:
        process = self._processes.pop(node)
        process.kill()
        process.wait()

    def freeze(self, *nodes: int) -> None:
        for node in nodes:
            os.kill(self._processes[node].pid, signal.SIGSTOP)

    def thaw(self, *nodes: int) -> None:
        for node in nodes:
            os.kill(self._processes[node].pid, signal.SIGCONT)

    def stop(self) -> None:
        """Kill all that still run; their folders are not used again."""
        for node in list(self._processes):
            self.kill(node)

    def _home(self, node: int) -> Path:
        return self.folder / f"node-{node}"

    def _configure(self, node: int, overrides: Mapping[str, str]) -> None:
        voters = ",".join(f"{each}@{address}" for each, address in self.controllers.items())
        listeners = {
            "CLIENT": self.brokers[node],
            "CONTROLLER": self.controllers[node],
            "SECURE": self.secure_controllers[node],
        }
        plain = " ".join(f'user_{user}="{word}"' for user, word in PASSWORDS.items())
        settings = {
            "process.roles": "broker,controller",
            "node.id": str(node),
            "controller.quorum.voters": voters,
            "controller.listener.names": "CONTROLLER,SECURE",
            "listeners": ",".join(f"{name}://{place}" for name, place in listeners.items()),
            "inter.broker.listener.name": "CLIENT",
            "listener.security.protocol.map": (
                "CLIENT:PLAINTEXT,CONTROLLER:PLAINTEXT,SECURE:SASL_SSL"
            ),
            "listener.name.secure.ssl.keystore.location": str(self._keystore),
            "listener.name.secure.ssl.keystore.password": _STORE_PASSWORD,
            "listener.name.secure.ssl.keystore.type": "PKCS12",
            "listener.name.secure.sasl.enabled.mechanisms": "SCRAM-SHA-512,PLAIN",
            "listener.name.secure.scram-sha-512.sasl.jaas.config": f"{_SCRAM} required;",
            "listener.name.secure.plain.sasl.jaas.config": f"{_PLAIN} required {plain};",
            "log.dirs": str(self._home(node) / "log-dir"),
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users": "User:ANONYMOUS",
            "metadata.log.max.record.bytes.between.snapshots": "9000",
            **NO_CLEANER,
            **overrides,
        }
        self._home(node).mkdir(parents=True)
        lines = [f"{key}={value}\n" for key, value in settings.items()]
        (self._home(node) / "server.properties").write_text("".join(lines), encoding="utf-8")

    def client_settings(
        self, user: str, mechanism: str, password: str | None = None
    ) -> dict[str, str]:
        """Kafka's client keys for the SECURE listener."""
        module = _PLAIN if mechanism == "PLAIN" else _SCRAM
        login = f'username="{user}" password="{password or PASSWORDS[user]}"'
        return {
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": mechanism,
            "sasl.jaas.config": f"{module} required {login};",
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(self.certificate),
        }

    @property
    def _keystore(self) -> Path:
        return self.folder / "keystore.p12"

    def _make_certificate(self) -> None:
        store = ["-keystore", str(self._keystore), "-storepass", _STORE_PASSWORD, "-alias", "node"]
        make = ["-genkeypair", "-keyalg", "EC", "-dname", "CN=node", "-ext", "SAN=IP:127.0.0.1"]
        show = ["-exportcert", "-rfc", "-file", str(self.certificate)]
        for arguments in (make, show):
            subprocess.run(["keytool", *arguments, *store], check=True, capture_output=True)

    def _format(self) -> None:
        """Format one node by Kafka's tool, and copy its folder for the others, with their own
        ids."""
        first, *others = NODES
        config = self._home(first) / "server.properties"
        users = [f"SCRAM-SHA-512=[name={user},password={word}]" for user, word in PASSWORDS.items()]
        scram = [part for user in users for part in ("--add-scram", user)]
        self.tools.storage("format", "-t", CLUSTER_ID, "-c", config, *scram)
        for node in others:
            folder = self._home(node) / "log-dir"
            shutil.copytree(self._home(first) / "log-dir", folder)
            properties = folder / "meta.properties"
            lines = properties.read_text(encoding="utf-8").splitlines()
            own = {"node.id": str(node), "directory.id": _some_uuid()}
            lines = [f"{key}={own.get(key, value)}" for key, _, value in map(_parted, lines)]
            properties.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _parted(line: str) -> tuple[str, str, str]:
    return line.partition("=")


def _some_uuid() -> str:
    return "A" + urlsafe_b64encode(secrets.token_bytes(16)).decode()[1:22]
