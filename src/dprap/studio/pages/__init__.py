"""A module for each page: home, then the six steps of a release.

home     the tables of the folder, and ways to bring one
table    the file, its first records, a first schema
schema   one card a column
plan     sliders, and what follows
run      confirmed, watched, paused, resumed
release  report, questions, files, comparison
ledger   all runs, what is left, verify
"""
