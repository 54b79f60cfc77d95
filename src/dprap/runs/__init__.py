"""A run from its options to its release: what every front end (command line, Python) calls.

options      everything a user may say about a run, declared once
wording      messages in the words of Python
plan         what follows from options and schema, before private data are touched
forecast     what a plan will cost and give
execute      a plan carried out on a private table
job          a run kept on disk, so that it can be resumed
carry_out    the whole way of a run: check, plan, open the ledger, spend, write
describe     plans, releases and ledgers in lines and as plain data
peak_memory  how much memory the process has held
"""
