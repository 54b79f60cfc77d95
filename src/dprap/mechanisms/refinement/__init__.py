"""Intervals for columns without bins, bought by noisy counts before the mechanism runs.

planning   what refinement may spend, and how many intervals it may make: from public facts alone
search     noisy counts of nested intervals, refined where they stand above the noise
masses     records in each of the finest intervals, estimated from all levels
intervals  which codes the mechanism gets: spikes, and intervals of about equally many records
habits     rounding habits, from noisy counts of multiples of 5, 10, 50, …
refine     all of it: a coarser schema, and the curator under it

Privacy: `search` and `habits` measure marginals through the curator, each charged. A record lies in
one interval of a level and in one class of multiples, so each is a marginal over groups of codes
with the sensitivity that `Curator.measure` states. Which intervals are measured next depends on
noisy results alone: adaptive composition, the charges add up. The rest is post-processing.
"""
