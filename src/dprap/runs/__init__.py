"""A run from its options to its release: what every front end (command line, Python, studio) calls.

options           everything a user may say about a run, declared once
option_values     what one option may be: kinds, checks, and paths as job files keep them
python_messages   messages in the words of Python
signatures        the options of a run in signatures and docstrings of Python
plan              what follows from options and schema, before private data are touched
asked_workload    the workload that the options ask for, or the default one
method_settings   the settings of a method, checked by kind
discover          paid discovery of domains that nobody knows
discovery_plan    what discovery will find, and which shares rarer values need
halfspace_points  where the codes of numeric columns lie for halfspaces
forecast          what a plan will cost and give
execute           a plan carried out on a private table
calibrate         how far answers may be off: the run repeated on its own synthetic table
error_samples     errors of a repetition, for many answers of every class
hold_out          what a repetition leaves out of the workload, to show what a workload leaves out
wanted_precision  planning backwards: the ε or the records that a wanted precision needs
named_code        query families from code that the steward names
job               a run kept on disk, so that it can be resumed
carry_out         the whole way of a run: check, plan, open the ledger, spend, write
describe          plans, releases and ledgers in lines and as plain data
first_records     the first records of a table, for the steward's eyes, and the example as a file
schema_files      schema files, changed column by column
outlook           what a plan means to whoever decides about it
finished_release  a finished release: read, asked, reported, compared
ledgers           ledgers as a front end shows them
addresses         addresses of databases, kept without secrets
progress_bar      the progress of a run in a terminal or notebook, for Python
peak_memory       how much memory the process has held
"""
