from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from agentic_rl.backends.local.data import DataOrder, Position

SIZES = st.integers(1, 60).flatmap(lambda rows: st.tuples(st.just(rows), st.integers(1, rows)))


@given(sizes=SIZES, seed=st.integers(0, 2**32), batches=st.integers(1, 40))
def test_each_epoch_takes_whole_batches_and_no_row_twice(sizes: tuple[int, int], seed: int, batches: int) -> None:
    rows, size = sizes
    order, position = DataOrder(rows, size, seed), Position()
    epochs: dict[int, list[int]] = {}
    for _ in range(batches):
        taken, position = order.take(position)
        assert len(taken) == size
        epochs.setdefault(position.epoch, []).extend(taken)
    assert list(epochs) == list(range(len(epochs)))
    for taken in epochs.values():
        assert len(set(taken)) == len(taken)
        assert set(taken) <= set(range(rows))
    assert all(len(taken) == rows // size * size for taken in list(epochs.values())[:-1])


@given(sizes=SIZES, seed=st.integers(0, 2**32), start=st.integers(0, 20))
def test_a_run_that_goes_on_takes_what_the_uninterrupted_one_took(
    sizes: tuple[int, int], seed: int, start: int
) -> None:
    whole, position = DataOrder(*sizes, seed), Position()
    for _ in range(start):
        _, position = whole.take(position)
    again = DataOrder(*sizes, seed)
    assert again.take(position) == whole.take(position)
