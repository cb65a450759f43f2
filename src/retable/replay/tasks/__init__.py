"""Replay tasks: each one folds a range of a big table's key hashes on a Spark worker.

Tasks pass rows to each other in an exchange (files of the table).
"""
