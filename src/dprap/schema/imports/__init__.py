"""What is already known of a table elsewhere, as settings of columns: metadata of other tools,
models, code books.

known         a file or an object, recognised by what is in it
frictionless  Frictionless Table Schema and data packages
json_schema   JSON Schema, and pydantic models by it
sdv           SDV metadata
pandera       pandera schemas
croissant     Croissant descriptions of data sets
labels        value labels of SAS, Stata and SPSS files
codebook      code books as CSV files
column_settings  settings of a column from the few facts that all of them have

No record is read here. Each module has one function that gives settings by the names of columns:
None for a column that is not to be released, and as many settings as the source has, which may be
too few for a schema.
"""

from dprap.schema.imports.known import Known, import_known, import_schema

__all__ = ["Known", "import_known", "import_schema"]
