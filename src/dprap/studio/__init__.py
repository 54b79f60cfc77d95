"""`dprap studio`: the whole job in a browser, on the steward's own machine.

The pages show and ask; what they do is done by `dprap.runs` or by a command of dprap in a process
of its own. Nothing here knows how privacy is made.

serve       the server on loopback, its address and its end
routes      which address leads to which page
gate        who may send a request: token, cookie, host, origin; and what every response forbids
visit       one request: its form, its table, and how pages answer
peer        which user of this machine a connection comes from
workspace   the tables, schemas and releases in one folder, and nothing outside of it
file_names  names that are safe to give to a file
uploads     files that stream in, within limits
tasks       commands of dprap in processes that outlive the server
commands    the command lines, to run and to show
forms       what people write into forms, as options and columns
constraint_forms  constraints between columns, as forms have them and in words
notes       what the studio remembers of a table
views       templates, texts and small pictures
pages/      a module for each page
"""
