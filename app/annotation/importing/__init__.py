"""Answers collected elsewhere, brought into a campaign: `import_answers` in service.py.

file.py bounds and unpacks the file, lines.py reads one line, names.py finds the images, storing.py
writes the rows. Nothing is stored unless every line can be used.
"""
