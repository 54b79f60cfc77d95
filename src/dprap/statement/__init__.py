"""The steward's papers about a release, for boards, lawyers, registries and archives.

about           what only the steward knows: names, purpose, region
plain_words     what a board or a lawyer needs, in plain words
evaluation      the questions of NIST SP 800-226, answered from the release
registry_entry  an entry for OpenDP's Deployments Registry
dictionary      the columns as a data dictionary, Frictionless Data Package and Croissant
printed_page    all of it as one page, ready to be printed
papers          the papers as files
"""

from dprap.statement.about import About
from dprap.statement.papers import require_own_folder, statement_of, write_statement

__all__ = ["About", "require_own_folder", "statement_of", "write_statement"]
