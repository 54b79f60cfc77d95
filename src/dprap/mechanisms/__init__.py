"""Mechanisms: what is measured, in which order and for how much.

They see a curator and nothing else.

protocol            what a mechanism is to dprap
registry            the methods by name, dprap's own and those of installed packages
result              what every mechanism returns, and what it tells while it runs
outline             a step of a plan, told before any data are touched
record_count        the number of records, as far as it is known
cell_answers        noisy cells made into answers of query families
adaptive/           the default: whole marginals, the worst-answered first
rounds              T rounds of choosing and measuring K queries, for rap and rap++
rap                 the algorithm of the paper
rap_plus            `rap++`: halfspaces, with real coordinates for numeric columns
projection_theorem  the accuracy theorem of the paper, evaluated
gaussian            noise on every marginal of the workload: answers, no table
independent         noisy one-way marginals, as if the columns were unrelated
"""

DEFAULT_METHOD = "adaptive"
"""The method unless another is named.

It stands here because the command line must know it without loading any method.
"""
