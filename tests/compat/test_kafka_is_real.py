import pytest

from tests.support.kafka.tools import RealKafka

pytestmark = pytest.mark.xdist_group("real-kafka")


def test_the_running_node_lists_an_acl_that_was_added(real_kafka: RealKafka) -> None:
    real_kafka.acls("--add", "--allow-principal", "User:a", "--operation", "Read", "--topic", "t")
    listing = real_kafka.acls("--list", "--topic", "t")
    assert "principal=User:a, host=*, operation=READ, permissionType=ALLOW" in listing
