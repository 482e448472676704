"""Importing answers that were collected elsewhere into a campaign: `import_answers` in service.py.

file.py limits and unpacks the file, lines.py reads one line, names.py finds the images, and
storing.py writes the rows. Nothing is stored unless every line is usable.
"""
