"""The release as a page: one self-contained HTML file that shows only what the release contains.

write         the public report, and the one against the private table, which is NOT PRIVATE
page          the page: sections, style sheet, no script
column_views  what is shown of one column, as numbers
pair_views    what is shown of pairs of columns, as numbers
budget_views  what is shown of the budget and the measurements, as numbers
column_cards  a card for each column
association   how columns go together
reliability   what of the release is kept, approximate or not kept
compared      the published table beside the private one
figure        a picture as inline SVG, with what all plots share
column_plots  the distribution of one column
pair_plots    a map of all pairs, and the cells of one
budget_plots  what was spent on what, and how the fit meets the measurements
guarantee_texts  the guarantee in plain words, in several languages
explanations  what the guarantee means, what it does not promise, how to ask for more
html          elements whose text is escaped
"""

from dprap.report.write import evaluate_report, require_own_page, write_report

__all__ = ["evaluate_report", "require_own_page", "write_report"]
