"""Pure functions that turn an image and a request into records and a response.

``Replica.submit`` writes the records. The names below are the public API. This package must not
know connections, nor how a log is written.
"""

from typing import TYPE_CHECKING

from metalog.lazy import lazy_names

if TYPE_CHECKING:
    from metalog.controller.acl import create_acls as create_acls
    from metalog.controller.acl import delete_acls as delete_acls
    from metalog.controller.result import ControllerResult as ControllerResult
    from metalog.controller.scram import AlterScramRequest as AlterScramRequest
    from metalog.controller.scram import ScramDeletion as ScramDeletion
    from metalog.controller.scram import ScramUpsertion as ScramUpsertion
    from metalog.controller.scram import alter_credentials as alter_credentials
    from metalog.controller.scram import salted_upsertion as salted_upsertion
    from metalog.controller.scram_password import Caller as Caller
    from metalog.controller.scram_password import ScramCredentials as ScramCredentials
    from metalog.controller.scram_password import ScramPasswordPlan as ScramPasswordPlan
    from metalog.controller.scram_password import ScramPasswordPolicy as ScramPasswordPolicy
    from metalog.controller.scram_password import ScramPasswordRequest as ScramPasswordRequest
    from metalog.controller.scram_password import ScramPasswordResponse as ScramPasswordResponse
    from metalog.controller.scram_password import plan_passwords as plan_passwords
    from metalog.controller.scram_password_config import ScramPasswordConfig as ScramPasswordConfig

if not TYPE_CHECKING:
    __getattr__, __all__ = lazy_names(
        __name__,
        {
            "metalog.controller.acl": "create_acls delete_acls",
            "metalog.controller.result": "ControllerResult",
            "metalog.controller.scram": "AlterScramRequest ScramDeletion ScramUpsertion "
            "alter_credentials salted_upsertion",
            "metalog.controller.scram_password": "Caller ScramCredentials ScramPasswordPlan "
            "ScramPasswordPolicy ScramPasswordRequest ScramPasswordResponse plan_passwords",
            "metalog.controller.scram_password_config": "ScramPasswordConfig",
        },
    )
