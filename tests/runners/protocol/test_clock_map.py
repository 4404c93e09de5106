"""Wall times on the monotonic clock, with what the anchors disagree by as the error."""

from runners.protocol.clock_map import ClockMap, Mapped


def anchors(*pairs: tuple[int, int], spread: int = 0) -> list[dict[str, int]]:
    return [{"wall_ns": w, "monotonic_ns": m, "spread_ns": spread} for w, m in pairs]


def test_no_anchor_maps_nothing() -> None:
    assert ClockMap.of([]) is None


def test_a_steady_clock_maps_exactly_but_for_the_spread_of_the_readings() -> None:
    clock = ClockMap.of(anchors((1000, 100), (2000, 1100), spread=7))

    assert clock is not None
    # 1000 -> 100, so 1500 -> 600
    assert clock.monotonic(1500) == Mapped(t_ns=600, error_ns=7)


def test_times_outside_all_anchors_are_mapped_by_the_nearest() -> None:
    clock = ClockMap.of(anchors((1000, 100), (2000, 1100)))

    assert clock is not None
    assert clock.monotonic(0).t_ns == -900
    assert clock.monotonic(5000).t_ns == 4100


def test_a_step_of_the_wall_clock_is_the_error_of_times_beside_it() -> None:
    # between the anchors the wall clock was put 300 forward: offsets -900 and -1200
    clock = ClockMap.of(anchors((1000, 100), (2300, 1100)))

    assert clock is not None
    assert clock.monotonic(1100) == Mapped(t_ns=200, error_ns=300)
    assert clock.monotonic(2200) == Mapped(t_ns=1000, error_ns=300)


def test_anchors_may_come_in_any_order() -> None:
    clock = ClockMap.of(anchors((2000, 1100), (1000, 100)))

    assert clock is not None
    assert clock.monotonic(1000).t_ns == 100
