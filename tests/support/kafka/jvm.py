"""Runs Kafka's command-line tools in one Java process, one after the other.

A new process takes a second to start, and most tests need a tool only briefly. Arguments, output
and exit code are the same as in a process of its own. This module must not know the code under
test.
"""

from __future__ import annotations

import atexit
import subprocess
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import py4j
from py4j import java_gateway, protocol
from py4j.java_gateway import GatewayParameters, JavaGateway
from py4j.protocol import Py4JJavaError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.support.kafka.tools import KafkaTools

EXIT = "a tool's exit"
[PY4J_JAR] = Path(py4j.__file__).parents[4].glob("share/py4j/py4j*.jar")


class ToolsAnswer(NamedTuple):
    exit_code: int
    out: str
    err: str


class ToolsProcess:
    """A Java process that is called through py4j."""

    def __init__(self, tools: KafkaTools) -> None:
        server = ("py4j.GatewayServer", "--die-on-broken-pipe", "0")
        self._process = subprocess.Popen(
            tools.command(*server, more_jars=f":{PY4J_JAR}"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        assert self._process.stdout is not None
        port = int(self._process.stdout.readline())
        self._gateway = JavaGateway(gateway_parameters=GatewayParameters(port=port))
        self._java: Any = self._gateway.jvm.java
        self._out, self._err = self._captured("setOut"), self._captured("setErr")
        self._exit_codes = self._java.util.ArrayList()
        internals = "" if tools.release in {"3.9", "4.3"} else ".internals"
        self._have_exits_thrown(f"org.apache.kafka.common.utils{internals}.Exit")

    @property
    def classes(self) -> Any:
        """Kafka's and Java's classes, by package."""
        self._raise_errors_as_they_are()
        return self._gateway.jvm

    def _raise_errors_as_they_are(self) -> None:
        """Keep py4j's own errors. PySpark, if it is loaded in this process, converts all of py4j's
        errors, and asks our Java process for one of Spark's classes to do so."""
        before, ours = java_gateway.get_return_value, self._gateway._gateway_client
        if getattr(before, "leaves_alone", None) is ours:
            return

        def value(answer: Any, client: Any, *names: Any) -> Any:
            return (protocol.get_return_value if client is ours else before)(answer, client, *names)

        value.leaves_alone = ours  # type: ignore[attr-defined]
        java_gateway.get_return_value = value

    def _captured(self, setter: str) -> Any:
        """Captured output. It is set once and emptied each time, since Scala's console keeps the
        first stream that it sees."""
        stream = self._java.io.ByteArrayOutputStream()
        printed = self._java.io.PrintStream(stream, True, "UTF-8")
        getattr(self._java.lang.System, setter)(printed)
        return stream

    def _have_exits_thrown(self, exits: str) -> None:
        """Replace the exit, as Kafka's own tests do: it stores the code and throws an Error."""
        java, handles = self._java, self._java.lang.invoke.MethodHandles
        method_type, named = java.lang.invoke.MethodType.methodType, java.lang.Class.forName
        number, nothing = java.lang.Integer.TYPE, java.lang.Void.TYPE
        add = method_type(java.lang.Boolean.TYPE, named("java.lang.Object"))
        keep = handles.publicLookup().bind(self._exit_codes, "add", add)
        error = java.lang.Error(EXIT)
        throw = handles.throwException(nothing, error.getClass()).bindTo(error)
        keep_and_throw = handles.foldArguments(
            handles.dropArguments(throw, 0, java.util.List.of(number)),
            keep.asType(method_type(nothing, number)),
        )
        with_message = java.util.List.of(named("java.lang.String"))
        self._class_of(exits).setExitProcedure(
            java.lang.invoke.MethodHandleProxies.asInterfaceInstance(
                named(f"{exits}$Procedure"), handles.dropArguments(keep_and_throw, 1, with_message)
            )
        )

    @property
    def jvm(self) -> Any:
        """Java's and Kafka's classes, by full name."""
        return self.classes

    def _class_of(self, name: str) -> Any:
        found = self.classes
        for part in name.split("."):
            found = getattr(found, part)
        return found

    def run(self, main: str, arguments: Sequence[str]) -> ToolsAnswer:
        tool = self._class_of(main)
        words = self._gateway.new_array(self._gateway.jvm.java.lang.String, len(arguments))
        for place, argument in enumerate(arguments):
            words[place] = argument
        self._out.reset()
        self._err.reset()
        exits = len(self._exit_codes)
        try:
            tool.main(words)
        except Py4JJavaError as error:
            if error.java_exception.getMessage() != EXIT:
                raise
        exit_code = self._exit_codes[exits] if len(self._exit_codes) > exits else 0
        return ToolsAnswer(exit_code, self._out.toString("UTF-8"), self._err.toString("UTF-8"))

    def stop(self) -> None:
        self._gateway.shutdown()
        self._process.kill()
        self._process.communicate()


@cache
def tools_process(tools: KafkaTools) -> ToolsProcess:
    """This process's Java process for these jars; it ends with this process."""
    process = ToolsProcess(tools)
    atexit.register(process.stop)
    return process
