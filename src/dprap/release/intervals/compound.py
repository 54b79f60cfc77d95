"""Intervals of what is made of several answers: differences, products, ratios, shares of a group,
and quantiles.

Each is a smooth function of counts or means (the delta method; for ratios Fieller's). Errors of
means of disjoint groups are taken as independent: their cells have noise of their own, and what the
fit takes from one it gives to many others. Errors of two counts of one table are not, if they are a
large part of all records: what one has too many, the other lacks (`of_one_table`).

Where values lie in their bins is no error that averages out. If an interval holds every place of
them, so does what is made of it: it reaches from the least to the most that they make of it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

from dprap.errors import SettingsError
from dprap.release.intervals.basis import Basis
from dprap.release.intervals.error_table import z_of
from dprap.release.intervals.interval import Interval, from_least_to_most


def of_one_table(first: float, second: float, records: float) -> float:
    """The correlation of the errors of two disjoint counts, if all errors add up to nothing.

    Args:
        first: The one count.
        second: The other.
        records: All records.

    Returns:
        −√(pq/((1 − p)(1 − q))) for shares p and q, as counts of a multinomial have it: −1 for two
        groups that are everybody, next to nothing for small ones.

    >>> of_one_table(400.0, 600.0, 1000.0), round(of_one_table(200.0, 200.0, 1000.0), 2)
    (-1.0, -0.25)

    """
    shares = [min(max(count / records, 0.0), 1.0) for count in (first, second)]
    left = (1 - shares[0]) * (1 - shares[1])
    return -1.0 if sum(shares) >= 1 or left <= 0 else -math.sqrt(shares[0] * shares[1] / left)


def difference(first: Interval, second: Interval, *, correlation: float = 0.0) -> Interval:
    """The interval of first − second.

    Args:
        first: A count or mean.
        second: Another.
        correlation: Of their errors.

    Returns:
        The interval; without ends where one of the two has none.

    >>> from dprap.release.intervals.basis import Basis
    >>> one = Interval(120.0, 100.0, 140.0, 10.2, 0.95, Basis.MEASURED)
    >>> difference(one, one).estimate
    0.0

    """
    found = _smooth(first, second, first.estimate - second.estimate, (1.0, -1.0), correlation)
    return _over_places(
        found, first, second, lambda a, b: difference(a, b, correlation=correlation)
    )


def product(first: Interval, second: Interval) -> Interval:
    """The interval of first · second, such as a sum: a count times a mean.

    It does not reach below 0 where neither of the two does.
    """
    found = _smooth(
        first, second, first.estimate * second.estimate, (second.estimate, first.estimate)
    )
    return _not_below_0(_over_places(found, first, second, product), first, second)


# How many half widths the second number of a ratio must lie from 0. One would do if its error were
# independent of whether it passes; but a number that just passes was more often pushed up by noise.
_CLEAR = 2.0


def ratio(first: Interval, second: Interval, *, correlation: float = 0.0) -> Interval:
    """The interval of first / second: every r for which first − r · second may be 0 (Fieller).

    With a and b the two, s and t their errors, c their covariance and z the quantile, these are the
    r with (a − r·b)² ≤ z²(s² + r²·t² − 2rc). A slope would do where b is far from 0 alone.

    Args:
        first: A count or mean.
        second: Another.
        correlation: Of their errors.

    Returns:
        The interval; without ends where one of the two has none, or where the second may be 0, or
        nearly so: then the ratio may be anything. It does not reach below 0 where neither of the
        two does.

    Raises:
        SettingsError: If the second number is 0.

    >>> from dprap.release.intervals.basis import Basis
    >>> one = Interval(120.0, 100.0, 140.0, 10.2, 0.95, Basis.MEASURED)
    >>> ratio(one, one).estimate
    1.0
    """
    if second.estimate == 0:
        raise SettingsError("a ratio needs a second number that is not 0.")
    value = first.estimate / second.estimate
    found = _smooth(
        first, second, value, (1 / second.estimate, -value / second.estimate), correlation
    )
    least, most = second.places or (second.estimate, second.estimate)
    if least <= 0 <= most:
        return replace(found, low=None, high=None, standard_error=None)
    if first.places is not None or second.places is not None:
        ends = _over_places(found, first, second, lambda a, b: ratio(a, b, correlation=correlation))
        return _not_below_0(ends, first, second)
    if first.standard_error is None or second.standard_error is None:
        return found
    z = z_of(first.level)
    numerator, denominator = z * first.standard_error, z * second.standard_error
    room = second.estimate**2 - denominator**2
    if abs(second.estimate) <= _CLEAR * denominator:
        return replace(found, low=None, high=None, standard_error=None)
    middle = first.estimate * second.estimate - correlation * numerator * denominator
    inside = middle**2 - room * (first.estimate**2 - numerator**2)
    half = math.sqrt(max(inside, 0.0)) / room
    found = replace(
        found, low=middle / room - half, high=middle / room + half, standard_error=half / z
    )
    return _not_below_0(found, first, second)


def _over_places(
    found: Interval,
    first: Interval,
    second: Interval,
    make: Callable[[Interval, Interval], Interval],
) -> Interval:
    """The interval from the least to the most that two numbers make wherever values lie in their
    bins; as found where that makes no difference.
    """
    if first.places is None and second.places is None:
        return found
    made = [make(one, other) for one in first.at_places for other in second.at_places]
    if any(not each.known for each in made):
        return replace(found, low=None, high=None, standard_error=None)
    return from_least_to_most(
        found.estimate,
        min(made, key=lambda each: each.low or 0.0),
        max(made, key=lambda each: each.high or 0.0),
    )


def _not_below_0(found: Interval, first: Interval, second: Interval) -> Interval:
    """The interval of a product or ratio of two numbers, cut at 0 where neither is negative."""
    if any(each.low is None or each.low < 0 for each in (first, second)) or found.low is None:
        return found
    return replace(found, low=max(found.low, 0.0))


def share(part: Interval, rest: Interval) -> Interval:
    """The interval of part / (part + rest): the share that a part has in a whole.

    With f the share of N records, its error is ((1 − f)·error of the part − f·error of the rest)/N.

    Args:
        part: The count of the part.
        rest: The count of the rest of the whole.

    Returns:
        The interval, between 0 and 1; without ends where one of the two has none.

    Raises:
        SettingsError: If the whole has no records.

    >>> from dprap.release.intervals.basis import Basis
    >>> one = Interval(120.0, 100.0, 140.0, 10.2, 0.95, Basis.MEASURED)
    >>> share(one, one).estimate
    0.5

    """
    whole = part.estimate + rest.estimate
    if whole <= 0:
        raise SettingsError("a share needs a group with records.")
    value = part.estimate / whole
    return _smooth(part, rest, value, ((1 - value) / whole, value / whole)).within(0.0, 1.0)


def quantile(
    value_at: Callable[[float], float],
    below: Interval,
    ends_at: Callable[[float, float], tuple[float, float]] | None = None,
) -> Interval:
    """The interval of a quantile, from that of the share of records below it (Woodruff).

    Args:
        value_at: The quantile of a probability, as the release gives it.
        below: The share of the group's records below the quantile, with its interval.
        ends_at: The least and the largest value between the quantiles of two probabilities,
            wherever values lie in their bins; needless where a bin has one value.

    Returns:
        The values between which the quantile lies if the share is anywhere in its interval.

    >>> from dprap.release.intervals.basis import Basis
    >>> median = quantile(
    ...     lambda share: 100 * share, Interval(0.5, 0.45, 0.55, 0.0255, 0.95, Basis.MEASURED)
    ... )
    >>> round(median.low), median.estimate, round(median.high)
    (45, 50.0, 55)
    """
    value = value_at(below.estimate)
    if below.low is None or below.high is None:
        return replace(below, estimate=value)
    low, high = value_at(below.low), value_at(below.high)
    if ends_at is not None and (ends := ends_at(below.low, below.high)) != (low, high):
        places = ends_at(below.estimate, below.estimate)
        return replace(below, estimate=value).at_any_place(*ends, places)
    error = (high - low) / 2 / z_of(below.level)
    return replace(below, estimate=value, low=low, high=high, standard_error=error)


def _smooth(
    first: Interval,
    second: Interval,
    value: float,
    slopes: tuple[float, float],
    correlation: float = 0.0,
) -> Interval:
    """A smooth function of two numbers whose errors have a correlation."""
    if first.level != second.level or first.population != second.population:
        raise SettingsError(
            "both intervals must have the same level and speak of the same: records or population."
        )
    order = list(Basis)
    basis = max(first.basis, second.basis, key=order.index)
    if first.standard_error is None or second.standard_error is None:
        return Interval(value, None, None, None, first.level, basis, first.population)
    one, other = slopes[0] * first.standard_error, slopes[1] * second.standard_error
    error = math.sqrt(max(one**2 + other**2 + 2 * correlation * one * other, 0.0))
    half = z_of(first.level) * error
    return Interval(value, value - half, value + half, error, first.level, basis, first.population)
