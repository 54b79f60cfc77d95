"""The rules of the adaptive mechanism: every number that was chosen by experiment, and why.

The defaults are meant for every table, ε and workload. Changing one of them is an ablation; nobody
needs to. σ below is the standard deviation of noise in counts, n the number of records.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

from dprap.errors import SettingsError

# Rules that None switches off.
_MAY_BE_NONE = ("broad_from_columns",)


@dataclass(frozen=True)
class Rules:
    """How the mechanism decides, where the settings leave it to decide."""

    # --- What the one-way marginals get -------------------------------------------------------
    # Of ρ they get a third where noise rules, and less as n/σ for each of their codes grows, down
    # to a twentieth. At small ε their noise is most of the error, and the more so the more codes
    # there are; at large ε the relations of pairs of columns are.
    most_for_columns: float = 1 / 3
    least_for_columns: float = 1 / 20
    # This part of it is spread equally, the rest by size. By size alone, a column of two codes
    # would have noise that spoils the largest cells of every marginal with it.
    columns_spread_equally: float = 0.6

    # Beside a marginal that answers the whole workload they get at least this share if the table
    # has other columns. If it has none, a smaller share buys nothing: the marginal says the columns
    # too.
    least_beside_one: float = 1 / 100
    # A pair of columns is typically this far from independent, in total variation distance: between
    # .06 and .15 on the tables that were looked at.
    typical_dependence: float = 0.1
    # Of c noisy cells about c^0.7 have noise that projecting onto distributions leaves.
    cells_with_noise: float = 0.7
    # The cells of such a marginal become rows up to so many numbers, 16 MB of them.
    most_numbers_in_rows: int = 1 << 22

    # --- What columns of many codes are taken for ---------------------------------------------
    # A column of so many codes is long. Long columns are smoothed, their neighbouring codes are
    # tied, they are measured in blocks where ranges of the workload run along them, and they take
    # part in groups. Shorter ones have little noise and hardly ever a smooth shape.
    long_from_codes: int = 16
    # Whether long columns are smoothed and their codes tied.
    smooth_columns: bool = True
    # A column of noise σ is shrunk towards equal shares by 1/(1 + (τn/σ)²), with τ the share that
    # is typical of the largest code: where noise hides every code, equal shares are nearer than any
    # that noise suggests.
    typical_share: float = 1 / 2
    # A code stands out, and is left as it was measured, if it is this many standard deviations
    # further above a typical code than the largest of so many normal numbers: where noise hides
    # typical codes, smoothing would take the zero of an amount for noise too. Typical codes of long
    # columns are hidden if noise is so many times an equal share; else smoothing sees what stands
    # out.
    outstanding: float = 0.5
    hidden_code: float = 3
    # A run of codes at an end of an ordered column is a tail, which falls, if no code of it and no
    # sum of its last codes is so many standard deviations above zero: what one look calls noise.
    # Where the run does hold something its total is kept, so that a wrong look costs little.
    hidden_run: float = 2
    # Records that the first and the last code of an ordered column have at least, as far as the
    # noise allows them: a declared bound is a value that somebody may have (`ends.py`).
    records_at_ends: float = 1
    # Neighbouring codes of such a column are tied by the correlation of their shares, up to this
    # one: what columns are related to changes faster than the columns themselves. Between 3 and 30
    # times the pull to the columns, 6 to 60 of a correlation of .9 to .99, errors hardly differ.
    most_alike: float = 0.95
    # A code of more than so many equal shares, such as the zero of an amount, has no neighbours.
    lonely_code: float = 10
    # Every code starts with at least this share of its noise. A code that noise has hidden must be
    # able to come back when other marginals show it, against the pull towards the start.
    least_start: float = 0.001

    # --- How many marginals are chosen ---------------------------------------------------------
    # In all 1.9 · (n/σ√c)^(2/3), with σ the noise of one marginal that got all of ρ and c the cells
    # of a typical pair of columns. With J picks each has noise of norm σ√(Jc), so J grows as long
    # as a further marginal removes more error than its share of the budget adds noise to the
    # others: many pairs of short columns are worth as much as few of long ones.
    pick_factor: float = 1.9
    # Tables of more than 14 columns have more to say, in proportion, unless a sweep says it.
    usual_columns: int = 14
    # Time must not grow with n without end, and each round of picks costs a fit. Where a sweep
    # follows there are half as many of both.
    most_picks: int = 200
    most_rounds: int = 10

    # --- Which marginals may be chosen: coarsen until a cell stands above the noise ------------
    # A marginal of three columns or more takes part, by code or in groups, only if it has at most
    # so many cells for each unit of n/σ of a pick: then a typical cell, n/cells, is not below its
    # noise. Codes are merged until a group has the share of the records that such cells leave it.
    cells_per_resolution: float = 1
    # Larger marginals are neither chosen nor swept: their cells would be empty, and the fit slow.
    most_cells: int = 1 << 20
    # Whether long columns take part in groups of codes as well.
    group_codes: bool = True
    # The workload's own marginals of so many columns take part in few groups for each column, so
    # "broad"; None has no broad marginals. Those of three columns gained nothing over their pairs,
    # nor did sets of four that the workload does not have: they only make selection noisier.
    broad_from_columns: int | None = 4
    # They take part in this first part of a round's picks. Their errors add up over so many cells
    # that what is sharp would hardly be chosen beside them.
    broad_part_of_round: float = 0.5

    # --- What makes a marginal worth choosing --------------------------------------------------
    # The sum of so many of its largest errors, unless it is broad. If all counted, wide marginals
    # that are a little wrong everywhere would come before those with the largest errors; with only
    # four, too little of a relation would stand above the noise of choosing.
    cells_that_count: int = 16
    # An error counts by what it exceeds this share of the noise that a measurement would have: of
    # small errors there are many, and no measurement mends them. The second is for `mean`.
    error_threshold: float = 0.5
    error_threshold_of_mean: float = 0.25

    # --- What a target column changes ------------------------------------------------------------
    # What does not contain a target counts by this factor. A model learns the target from its
    # relations to one and two other columns; those of the others only make its records plausible.
    beside_target: float = 0.2

    # --- When the whole workload is measured at the end ----------------------------------------
    # With r = n/σ√m, the resolution if all m marginals of the workload were measured: below 180
    # there is no sweep. Above, it gets 1 − 80/r of what the columns left, and at least 80%: half a
    # sweep is worse than none. From r = 80 on it gets 95% if as many marginals are worth choosing
    # as the workload has, for choosing among them is waste.
    sweep_from_resolution: float = 180
    sweep_rest: float = 80
    least_sweep: float = 0.8
    sweep_of_all: float = 0.95
    # More cells than these take too long to fit; then marginals are chosen only.
    most_swept_cells: int = 30_000_000

    # --- How rows are fitted -------------------------------------------------------------------
    # Whether a cell of a noisy marginal counts by how reliable its departure from the model is; if
    # not, all cells of a marginal count alike.
    shrink_cells: bool = True
    # Up to so many marginals, of columns with so many codes on average, are fitted afresh at the
    # end, by rows that start far apart: rows that were fitted to less before remember its noise.
    # More marginals, and those of short columns, ask for a closer fit, to which rows get in time
    # only if they start alike and go on from round to round. With 0 marginals no fit is afresh.
    afresh_up_to_picks: int = 40
    afresh_from_codes: float = 8
    # How far apart rows start, as a factor of Gumbel noise on the logits.
    jitter_of_afresh: float = 1.0
    jitter: float = 0.3
    # The last fit is repeated up to so many times in all, while each time takes 3% off the misfit
    # and the misfit is above half a unit of noise for each cell or, where noise is small, above
    # that of the truth: rows then need longer.
    most_last_fits: int = 8
    least_gain_of_last_fit: float = 0.03
    misfit_of_noise: float = 0.5
    # After a sweep whose noise is below a thousandth of the records, rows that are further from
    # what was measured than the truth is are held back by the pull to independent columns. So with
    # M the misfit of the truth each repetition then has (M/misfit)^16 of the pull before: .85 of it
    # at 1% above M, a tenth at 15%. Where noise is larger or there is no sweep the pull stays, for
    # it stands in for what noise hides.
    close_from_resolution: float = 1000
    weaker_pull: float = 16
    # A repetition of the last fit lets cells count more that rows miss by more than so many
    # standard deviations: noise goes so far in one of 16,000 cells. It is repeated for that alone
    # if the largest miss is above the second, where noise goes in one of two million.
    usual_miss: float = 4
    certain_miss: float = 5
    # Where such repetitions gain no more and the misfit is still 3% above that of the truth, each
    # row becomes two and fits take twice the steps, up to so many times and as long as there is
    # room (`most_numbers_in_rows`). The first times gain most, and each takes four times the time.
    most_splits: int = 2
    # The noise that a cell which constraints leave empty counts with, as a part of the least noise
    # of a measured one. A fourth makes it count sixteen times as much. With far less noise these
    # cells alone would decide where the fit goes.
    noise_of_empty_cells: float = 0.25
    # In this last share of a fit's steps the learning rate falls to zero.
    cool_down: float = 0.5

    def __post_init__(self) -> None:
        for each in fields(self):
            value = getattr(self, each.name)
            if value is None and each.name in _MAY_BE_NONE:
                continue
            if not isinstance(value, int | float) or not 0 <= value < math.inf:
                raise SettingsError(
                    f"the rule {each.name} must be a finite number, not negative; it is {value}."
                )
        for name in (
            "most_rounds",
            "most_picks",
            "cells_per_resolution",
            "sweep_rest",
            "usual_columns",
            "pick_factor",
            "most_last_fits",
            "typical_share",
            "weaker_pull",
            "usual_miss",
            "noise_of_empty_cells",
        ):
            if not getattr(self, name) > 0:
                raise SettingsError(f"the rule {name} must be above 0.")
        shares = (
            "most_for_columns",
            "least_for_columns",
            "columns_spread_equally",
            "broad_part_of_round",
        )
        for name in (
            *shares,
            "least_sweep",
            "sweep_of_all",
            "cool_down",
            "least_beside_one",
            "beside_target",
        ):
            if getattr(self, name) > 1:
                raise SettingsError(f"the rule {name} must be at most 1.")
        if not self.least_for_columns <= self.most_for_columns < 1 or self.least_for_columns == 0:
            raise SettingsError("the rules need 0 < least_for_columns ≤ most_for_columns < 1.")
        if self.most_alike >= 1:
            raise SettingsError("the rule most_alike must be below 1.")
        # With all of it spread among columns of the workload, the others would get nothing.
        if max(self.least_sweep, self.sweep_of_all) == 1 or self.columns_spread_equally in (0, 1):
            raise SettingsError(
                "the rules need least_sweep and sweep_of_all below 1 and columns_spread_equally"
                " above 0 and below 1."
            )
