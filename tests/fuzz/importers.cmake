# A line per importer.
