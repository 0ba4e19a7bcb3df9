"""The script that makes fixtures reads Kafka's logs as the tools did that made ours."""

from tests.support.kafka.case_maker import decode, replay, sorted_acls, sorted_scram
from tests.support.kafka.cases import kafka_case
from tests.support.kafka.tools import KafkaTools


def test_it_decodes_and_replays_as_the_fixtures_say(kafka_tools: KafkaTools) -> None:
    case = kafka_case("basic-4.3")
    decoded = decode(kafka_tools, case.metadata_dir / "00000000000000000000.log")
    assert decoded.records == case.json_lines("records.jsonl")
    assert [{"file": "00000000000000000000.log", **batch} for batch in decoded.batches] == (
        case.json_lines("batches.jsonl")
    )
    state = replay(decoded.records)
    assert sorted_acls(state) == case.json("acls.json")
    assert sorted_scram(state) == case.json("scram.json")
