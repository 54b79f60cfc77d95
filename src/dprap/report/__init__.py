"""The release as a page: one self-contained HTML file that shows only what the release contains.

write         the public report, and the one against the private table, which is NOT PRIVATE
page          the page: sections, style sheet, no script
content       what a report shows, as numbers
columns       a card for each column
reliability   what of the release is kept, approximate or not kept
compared      the published table beside the private one
plots         plots as inline SVG
guarantee_texts  the guarantee in plain words, in several languages
explanations  what the guarantee means, what it does not promise, how to ask for more
html          elements whose text is escaped
"""

from dprap.report.write import evaluate_report, write_report

__all__ = ["evaluate_report", "write_report"]
