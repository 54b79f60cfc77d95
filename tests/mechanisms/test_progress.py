"""Progress that is handed on now and then."""

from dprap.mechanisms.result import Paced, Progress


def test_progress_is_handed_on_when_enough_time_has_passed():
    told, now = [], [0.0]
    paced = Paced(told.append, seconds=2.0, clock=lambda: now[0])
    for item in paced.each("abcdef", "fit", 6):
        now[0] += 0.5 if item < "c" else 1.0
    assert [progress.done for progress in told] == [3, 5]
    assert told[0] == Progress("fit", 3, 6)
