"""Reads KIP-11's configuration keys, and refuses keys that have no meaning here.

This module must not know decisions.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

from authorizer.compat.kip11.model import principal_of
from authorizer.config import ALLOW_EVERYONE as OPEN_WITHOUT_ACLS
from authorizer.config import SUPER_USERS as TODAYS_SUPER_USERS
from metalog.config.properties import parse_properties, properties_mapping
from metalog.disk.files import Files, read_whole
from metalog.errors import ConfigException, InvalidRequest

SUPER_USERS: Final = "kafka.superusers"
CONFIG_PATH: Final = "authorizer.config.path"
ALLOW_EVERYONE: Final = "allow.everyone"
ZOOKEEPER_URL: Final = "zookeeper.url"
KEYS: Final = (SUPER_USERS, CONFIG_PATH, ALLOW_EVERYONE, ZOOKEEPER_URL)

_KEYS_IN_FILE: Final = (ALLOW_EVERYONE, ZOOKEEPER_URL)

_log = logging.getLogger(__name__)
_BETWEEN_USERS: Final = re.compile(r";|,(?=\s*[A-Za-z]+:)")


class SimpleAclConfig(NamedTuple):
    """``standard`` has StandardAuthorizer's settings, with the super users as ``super.users``."""

    allow_everyone: bool
    standard: Mapping[str, object]


def simple_acl_config(config: Mapping[str, object], files: Files) -> SimpleAclConfig:
    """The settings in ``config`` and in the file of ``authorizer.config.path``.

    ``ConfigException`` names an invalid key, and the reason.
    """
    path = _text(config, CONFIG_PATH)
    in_file = _read_file(Path(path), files) if path else {}
    for key in in_file.keys() & config.keys():
        raise ConfigException(f"{key} is set in the configuration and again in {path}; remove one")
    settings = {**config, **in_file}
    if ZOOKEEPER_URL in settings:
        raise ConfigException(
            f"{ZOOKEEPER_URL}: ACLs are kept in the metadata log, not in ZooKeeper (KIP-801); "
            "remove this key, and copy the ACLs with metalog apply"
        )
    if _text(settings, OPEN_WITHOUT_ACLS).lower() not in ("", "false"):
        raise ConfigException(
            f"{OPEN_WITHOUT_ACLS}: KIP-11's authorizer has no such setting; "
            f"{ALLOW_EVERYONE} allows every request that no ACL denies"
        )
    standard = dict(settings)
    if not isinstance(standard.get(SUPER_USERS), str | None):
        raise ConfigException(f"{SUPER_USERS}: write one text, with semicolons between the users")
    users = _text(standard, SUPER_USERS)
    if users:
        if _text(standard, TODAYS_SUPER_USERS):
            raise ConfigException(
                f"{SUPER_USERS} is the old name of {TODAYS_SUPER_USERS}; remove one of the two"
            )
        standard[TODAYS_SUPER_USERS] = ";".join(_super_users(users))
    return SimpleAclConfig(_is_true(settings, ALLOW_EVERYONE), standard)


def _super_users(text: str) -> list[str]:
    """The principals in ``text``, separated by semicolons, or by commas before a ``type:``. Other
    commas belong to a distinguished name."""
    users = [user for part in _BETWEEN_USERS.split(text) if (user := part.strip())]
    for user in users:
        if "," in user and "=" not in user:
            raise ConfigException(f"{SUPER_USERS}: {user!r}: separate users by semicolons")
    try:
        return [str(principal_of(user)) for user in users]
    except InvalidRequest as error:
        raise ConfigException(f"{SUPER_USERS}: {error}") from None


def _read_file(path: Path, files: Files) -> dict[str, str]:
    try:
        properties = properties_mapping(parse_properties(read_whole(files, path)))
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise ConfigException(f"{CONFIG_PATH}={path}: {why}") from None
    for key in properties:
        if key not in _KEYS_IN_FILE:
            _log.warning("%s: unknown key %s; this file can set %s", path, key, ALLOW_EVERYONE)
    return {key: value for key, value in properties.items() if key in _KEYS_IN_FILE}


def _is_true(settings: Mapping[str, object], key: str) -> bool:
    text = _text(settings, key).lower()
    if text not in ("", "true", "false"):
        raise ConfigException(f"{key}={text}: write true or false")
    return text == "true"


def _text(settings: Mapping[str, object], key: str) -> str:
    value = settings.get(key)
    return "" if value is None else str(value).strip()
