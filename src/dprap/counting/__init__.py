"""Counting kernels: exact integer counts of marginals over encoded records, of private tables and
of public ones.

Nothing here reads a table, adds noise or keeps a record: codes come in, counts go out.

cells   cell numbers of records, and counts of cells
unions  few wide marginals whose counts serve many
sums    counts of marginals from those of wider ones
tally   running counts of many marginals, block by block
passes  how many passes over the records keep the counters in memory
"""

from dprap.counting.cells import CellCounts, cell_numbers
from dprap.counting.tally import Tally

__all__ = ["CellCounts", "Tally", "cell_numbers"]
