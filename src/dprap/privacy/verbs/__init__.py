"""The verbs of the curator, one module for each kind: what they compute, charge, draw and store.

private_table  what they rest on: the table, the budget, the ledger, and what is refused; no noise
measure        noisy counts of marginals and of single queries
select         the worst-answered marginals or queries, by the exponential mechanism
certify        a noisy largest error of finished answers
discover       values above a noisy threshold
"""
