"""UUIDv7 as RFC 9562 lays it out."""

from assay.ledger.ids import uuid7, uuid7_from


def test_the_example_of_the_rfc_comes_out_bit_for_bit() -> None:
    # RFC 9562, A.6: unix_ts_ms 0x017F22E279B0, rand_a 0xCC3, rand_b 0x18C4DC0C0C07398F
    made = uuid7_from(unix_ms=0x017F22E279B0, random_bits=0xCC3 << 62 | 0x18C4DC0C0C07398F)

    assert str(made) == "017f22e2-79b0-7cc3-98c4-dc0c0c07398f"


def test_it_says_its_version_and_variant() -> None:
    made = uuid7()

    assert made.version == 7
    assert made.variant == "specified in RFC 4122"


def test_later_ids_sort_later() -> None:
    earlier = uuid7_from(unix_ms=1, random_bits=2**74 - 1)
    later = uuid7_from(unix_ms=2, random_bits=0)

    assert earlier < later
    assert str(earlier) < str(later)


def test_ids_of_one_process_rise_even_within_a_millisecond() -> None:
    made = [uuid7() for _ in range(10_000)]

    assert made == sorted(set(made))
