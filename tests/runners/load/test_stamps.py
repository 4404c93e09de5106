"""The client's error from two sets of stamps, worked by hand."""

from runners.load import stamps

SENT = 1_000
HEAD = b"HTTP/1.1 200 OK\r\n\r\n"


def event(accepted: int, t: int) -> bytes:
    return b'data: {"choices":[],"accepted":%d,"t":%d}\n\n' % (accepted, t)


def test_errors_are_client_stamps_minus_server_stamps() -> None:
    reads = {"a": [(2_000, HEAD), (5_100, event(1_200, 5_000)), (7_250, event(1_200, 7_000))]}

    errors = stamps.compare(reads, {"a": SENT})

    # arrivals: 5100 - 5000 = 100, 7250 - 7000 = 250; TTFT: (5100 - 1000) - (5000 - 1200) = 300
    # gap: |(7250 - 5100) - (7000 - 5000)| = 150
    assert (errors.arrival.summary()["mean_ns"], errors.arrival.largest) == (175.0, 250)
    assert errors.ttft.summary()["mean_ns"] == 300.0
    assert errors.gap.summary()["mean_ns"] == 150.0


def test_an_event_arrives_with_the_read_that_completes_it() -> None:
    whole = event(1_200, 5_000)
    reads = {"a": [(5_100, whole[:30]), (5_900, whole[30:] + event(1_200, 5_500))]}

    errors = stamps.compare(reads, {"a": SENT})

    # both events are complete at 5900: 900 and 400 after their stamps
    assert sorted(errors.arrival._values) == [400, 900]


def test_a_stream_without_events_or_send_counts_for_nothing() -> None:
    errors = stamps.compare({"a": [(2_000, HEAD)], "b": [(5_100, event(1, 5_000))]}, {"a": SENT})

    assert len(errors.arrival) == 1
    assert len(errors.ttft) == len(errors.gap) == 0
    assert errors.ttft.summary()["reason"] == "nothing was observed"
