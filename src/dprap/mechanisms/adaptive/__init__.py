"""The default mechanism: adaptive whole-marginal projection.

settings      what a user may override
rules         every number that was chosen by experiment, with its reason
spending_steps  the steps: what each buys and costs
spending      what is spent on what: which steps, in exact fractions of ρ
eligible      which marginals take part after the columns, and how much each counts
outline       the plan: the steps added up, without data
mechanism     the run: the steps carried out
columns       one-way marginals, and blocks of codes for prefixes
choosing      which marginals a round measures
column_estimate  the distribution of a column behind its noisy counts
one_marginal  rows for a workload that one marginal answers
groups        candidates over groups of codes
shrinkage     how much of a noisy number to believe
smoothing     shrinkage of differences between neighbouring codes
neighbours    codes that are alike, which a fit ties together
ends          a record at ends of columns that noise hides
evidence      shrinkage of departures from the model before
last_fit      how close the last fit gets, and when it is repeated
misses        cells that rows miss by more than noise explains, which then count more
empty_cells   cells that constraints leave empty, fitted to zero
public_start  rows that start at a public table
"""

from dprap.mechanisms.adaptive.mechanism import run
from dprap.mechanisms.adaptive.outline import outline
from dprap.mechanisms.adaptive.rules import Rules
from dprap.mechanisms.adaptive.settings import AdaptiveSettings
from dprap.mechanisms.protocol import Mechanism

__all__ = ["MECHANISM", "AdaptiveSettings", "Rules", "outline", "run"]

MECHANISM = Mechanism(
    run,
    outline,
    AdaptiveSettings,
    "whole marginals, the worst-answered first; for most uses the best",
    takes_public=True,
    takes_constraints=True,
    takes_order=True,
    predicts=True,
)
