"""Blocks go round and none is lost."""

import pytest

from runners.engines.torch.kv_blocks import BlockPool, OutOfBlocks


def test_a_request_needs_a_block_for_each_begun_stretch_of_tokens() -> None:
    pool = BlockPool(total=8, block_tokens=4)

    # ceil(0/4)=0, ceil(1/4)=1, ceil(4/4)=1, ceil(5/4)=2
    assert [pool.blocks_for(tokens) for tokens in (0, 1, 4, 5)] == [0, 1, 1, 2]


def test_taking_more_than_is_free_changes_nothing() -> None:
    pool = BlockPool(total=4, block_tokens=4)
    pool.take("a", 3)

    with pytest.raises(OutOfBlocks, match="b needs 2 blocks, 1 are free"):
        pool.take("b", 2)

    assert (pool.used, pool.free, list(pool.table("b"))) == (3, 1, [])
    pool.check()


def test_released_blocks_can_be_taken_at_once() -> None:
    pool = BlockPool(total=4, block_tokens=4)
    pool.take("a", 4)
    held = set(pool.table("a"))

    assert pool.release("a") == 4
    pool.take("b", 4)

    assert set(pool.table("b")) == held
    assert pool.release("nobody") == 0
    pool.check()


def test_a_lost_block_is_noticed() -> None:
    pool = BlockPool(total=4, block_tokens=4)
    pool.take("a", 2)
    pool._tables["a"].pop()

    with pytest.raises(AssertionError, match="1 held and 2 free are not 4 blocks"):
        pool.check()
