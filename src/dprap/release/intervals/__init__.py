"""How far each answer may be off.

basis        whether an answer was measured, follows from what was measured, or rests on the model
error_table  how large errors are, by kind of answer, basis and size: the calibration of a release
interval     the interval of one answer, and of differences, ratios, means and quantiles
fidelity     which columns and relations a release keeps
posterior    rows and tables drawn from what the measurements leave open
combine      one estimate and its standard error from the analyses of several tables
"""

from dprap.release.intervals.basis import Basis, basis_of
from dprap.release.intervals.error_table import ErrorTable, Kind
from dprap.release.intervals.interval import Interval

__all__ = ["Basis", "ErrorTable", "Interval", "Kind", "basis_of"]
