"""The release as a page: one self-contained HTML file that shows only what the release contains."""

from dprap.report.write import evaluate_report, write_report

__all__ = ["evaluate_report", "write_report"]
