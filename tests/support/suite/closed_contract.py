"""A contract of import-linter: some modules that import nothing but themselves.

In the terms of pyproject.toml:

    type = "closed"
    modules = [...]      # `a.b.*` is every module of `a.b`, and not `a.b` itself
    may_import = [...]   # what else they may import, beside the standard library

Imports for type checkers only do not count: they are missing when the modules run.
"""

from __future__ import annotations

import sys
from fnmatch import fnmatchcase

import grimp
from importlinter import Contract, ContractCheck, fields, output


class ClosedContract(Contract):
    """``modules`` import each other, the standard library and ``may_import``, nothing else."""

    type_name = "closed"

    modules = fields.ListField(subfield=fields.StringField())
    may_import = fields.ListField(subfield=fields.StringField())

    def check(self, graph: grimp.ImportGraph, verbose: bool) -> ContractCheck:
        graph = grimp.build_graph(
            *self.session_options["root_packages"],
            include_external_packages=True,
            exclude_type_checking_imports=True,
        )
        closed = {
            module
            for module in graph.modules
            if any(fnmatchcase(module, pattern) for pattern in self.modules)
        }
        allowed = closed | {*self.may_import, "__future__"} | sys.stdlib_module_names
        strays = sorted(
            (module, imported)
            for module in closed
            for imported in graph.find_modules_directly_imported_by(module) - allowed
        )
        idle = sorted(
            pattern
            for pattern in (*self.modules, *self.may_import)
            if not any(fnmatchcase(module, pattern) for module in graph.modules)
        )
        return ContractCheck(
            kept=not strays and not idle, metadata={"strays": strays, "idle": idle}
        )

    def render_broken_contract(self, check: ContractCheck) -> None:
        for module, imported in check.metadata["strays"]:
            output.print_error(f"{module} imports {imported}")
        for pattern in check.metadata["idle"]:
            output.print_error(f"there is no module {pattern}")
