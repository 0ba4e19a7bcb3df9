"""Prints the CycloneDX SBOM of the wheel: the packages in the wheel itself, for the report's
charts.

Packages that pip installs beside the wheel are not in the SBOM: METADATA names them.
"""

import json
import os
import sys
import tomllib
from base64 import b64decode
from datetime import UTC, datetime
from pathlib import Path
from uuid import NAMESPACE_URL, uuid5

from cyclonedx.model import HashAlgorithm, HashType, Property
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.model.license import DisjunctiveLicense
from cyclonedx.output.json import JsonV1Dot6
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from packageurl import PackageURL

REPOSITORY = Path(__file__).resolve().parents[1]
VENDOR = "metalog_spark/report/vendor"


def component(kind: str, name: str, version: str, license_id: str, **more: object) -> Component:
    purl = PackageURL(kind, None, name, version)
    return Component(
        type=ComponentType.LIBRARY,
        bom_ref=str(purl),
        name=name,
        version=version,
        purl=purl,
        licenses=[DisjunctiveLicense(id=license_id)],
        **more,
    )


def bundled() -> list[Component]:
    """The npm packages in the charts' bundle, from the bundle's lock file."""
    lock = json.loads((REPOSITORY / VENDOR / "package-lock.json").read_bytes())
    return [
        component(
            "npm",
            path.removeprefix("node_modules/"),
            package["version"],
            package["license"],
            hashes=[
                HashType(
                    alg=HashAlgorithm.SHA_512,
                    content=b64decode(package["integrity"].removeprefix("sha512-")).hex(),
                )
            ],
            properties=[Property(name="bundled-in", value=f"{VENDOR}/echarts.js")],
        )
        for path, package in lock["packages"].items()
        if path and not package.get("dev")
    ]


def bom() -> Bom:
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text("utf-8"))["project"]
    wheel = component("pypi", project["name"], project["version"], project["license"])
    made = datetime.fromtimestamp(int(os.environ["SOURCE_DATE_EPOCH"]), UTC)
    parts = bundled()
    found = Bom(components=parts, serial_number=uuid5(NAMESPACE_URL, f"{wheel.purl}?{made}"))
    found.metadata.component = wheel
    found.metadata.timestamp = made
    found.register_dependency(wheel, parts)
    return found


def main() -> int:
    text = JsonV1Dot6(bom()).output_as_string(indent=2)
    fault = JsonStrictValidator(SchemaVersion.V1_6).validate_str(text)
    print(fault or text)
    return 1 if fault else 0


if __name__ == "__main__":
    sys.exit(main())
