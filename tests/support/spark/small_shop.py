"""One day of a small shop, with so few ACLs and requests that every finding can be computed by
hand.

bob reads three of the shop's topics by a wildcard; carol has a grant that nobody uses; dave is
stopped by a DENY; erin came later; frank has two powers that nobody should combine; mallory keeps
retrying; admin is a super user.
"""

from metalog.acl import Operation, ResourceType
from tests.support.spark.small_pipeline import Ask, World, life
from tests.support.worlds.small_acls import allow, deny

READ, WRITE, ALTER = Operation.READ, Operation.WRITE, Operation.ALTER
ALTER_CONFIGS = Operation.ALTER_CONFIGS
CLUSTER = ResourceType.CLUSTER
BOB, CAROL, DAVE, ERIN = "User:bob", "User:carol", "User:dave", "User:erin"
FRANK, MALLORY, ADMIN = "User:frank", "User:mallory", "User:admin"

EVERY_TOPIC = allow("*", READ, BOB)
ORDERS = allow("shop.orders", READ, BOB)
PAYMENTS = allow("payments", WRITE, CAROL)
DAVES, AGAINST_DAVE = allow("payments", READ, DAVE), deny("payments", READ, DAVE)
ERINS = allow("logs", READ, ERIN)
POWERS = [
    allow("kafka-cluster", operation, FRANK, kind=CLUSTER) for operation in (ALTER, ALTER_CONFIGS)
]
MALORYS = allow("payments", READ, "User:malory")
LIFETIMES = (
    life(1, ORDERS),
    life(2, EVERY_TOPIC),
    life(3, PAYMENTS),
    life(4, DAVES),
    life(5, AGAINST_DAVE),
    life(6, ERINS, begin=2),
    *(life(7 + number, acl) for number, acl in enumerate(POWERS)),
    life(9, MALORYS),
)
ASKS = (
    Ask(BOB, READ, "shop.orders", times=10),
    Ask(BOB, READ, "shop.orders", hour=5, times=2),
    Ask(BOB, READ, "shop.carts", times=5),
    Ask(BOB, READ, "shop.refunds", times=3),
    Ask(DAVE, READ, "payments", times=4),
    Ask(FRANK, ALTER, "kafka-cluster", kind=CLUSTER),
    Ask(MALLORY, READ, "payments", hour=3, times=1500, host="10.6.6.6"),
    Ask(ADMIN, WRITE, "payments", times=2),
    Ask(ERIN, WRITE, "logs", hour=4),
)
SHOP = World(LIFETIMES, ASKS, super_users=(ADMIN,))
REQUESTS = 10 + 2 + 5 + 3 + 4 + 1 + 1500 + 2 + 1
