"""How far each answer may be off.

basis        what an answer rests on: a measurement, what follows from measurements, or the model
error_table  how large errors are, by kind of answer, basis and size: the calibration of a release
interval     the interval of one count or mean, or of any statistic
compound     intervals of differences, ratios, shares of a group, and quantiles
fidelity     which columns and relations a release keeps
posterior    rows and tables drawn from what the measurements leave open
combine      one estimate and its standard error from the analyses of several tables
"""

from dprap.release.intervals.basis import Basis, Grounds
from dprap.release.intervals.error_table import ErrorTable, Kind
from dprap.release.intervals.interval import Interval

__all__ = ["Basis", "ErrorTable", "Grounds", "Interval", "Kind"]
