"""Relaxed data sets: rows that are product distributions over the columns, in NumPy.

rows             the noun: probabilities of all codes in all rows, and the rows' weights
folding          a cell table as one matrix product of two halves, for NumPy and JAX alike
marginals        answers of any query family on rows
blocks           column blocks of rows that move: what fits look at again and again
shares           shares of many marginals on changing rows
halves           products of halves of marginals and their slopes, prepared for all steps
gradient         the gradient of rows' distance from marginals
adam             one step of a fit, given the gradient
fit              rows fitted to noisy marginals; what every fit takes and returns
simplex          the nearest distribution to noisy shares
rounding         records drawn from rows, column by column
sampled_answers  answers on drawn records, for functions with too many cells for a table
cell_residuals   records too many in each cell, and what exchanges do to that
exchange         records whose joint counts too are near what the rows say
mixing           records that say no more than pairs of columns do
jax              the compiled fits of the method rap; imported when used

Nothing but `jax` loads JAX, so that reading, counting and answering do without it.
"""

from dprap.relaxed.adam import FitSettings
from dprap.relaxed.fit import FitResult, fit
from dprap.relaxed.gradient import Target
from dprap.relaxed.marginals import answers, cell_table
from dprap.relaxed.rounding import round_rows
from dprap.relaxed.rows import RelaxedDataset, uniform_weights
from dprap.relaxed.simplex import project_simplex

__all__ = [
    "FitResult",
    "FitSettings",
    "RelaxedDataset",
    "Target",
    "answers",
    "cell_table",
    "fit",
    "project_simplex",
    "round_rows",
    "uniform_weights",
]
