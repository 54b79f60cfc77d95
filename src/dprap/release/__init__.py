"""What a run publishes, in memory and on disk.

release              the noun: everything a run publishes, and the files it is written to
contents             its data, and the sentences that follow from them
synthetic_tables     its synthetic tables
asking               its answers and intervals
privacy_statement    the privacy statement, exactly and in plain words
files                the release directory, written whole or not at all
measurements         measurements.parquet: every noisy measurement
archive              arrays on disk, read within limits
output_checks        what can be known of the output before it is paid for
draw_records         synthetic records from relaxed rows
sharp_pairs          pairs of numbers whose records lie in few cells, and records moved there
table_answers        answers of a workload on a synthetic table
certified            what the accuracy certificate says of which answers
expected             the error to expect from the noise that was paid for
conditions           conditions as Python values, and rows given that they hold
question_language    questions in text, parsed into disjoint boxes of values
breakdown            the numbers behind an answer, for all groups at once
answer_question      the answer to a question, and how sure it is
marginal_frame       a marginal as a labelled table
arguments            what people hand to a release's methods, made into what was meant
statistics_language  questions about numbers: mean, quantile, correlation and the like
comparisons          shares of a group, differences and ratios between two
statistics_answers   the answers to both
statistics_intervals how far these may be off
hidden_codes         how far a mean may be off because of codes that are nearly empty
figures              such an answer as lines, table and data
value_pieces         where values lie inside a code
intervals/           how far an answer may be off
"""

from dprap.release.files import ReleaseError, load
from dprap.release.privacy_statement import PrivacyStatement
from dprap.release.release import Release, RunFacts

__all__ = ["PrivacyStatement", "Release", "ReleaseError", "RunFacts", "load"]
