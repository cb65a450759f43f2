"""The types of the fixtures in conftest.py, for tests that name them."""

from collections.abc import Callable
from typing import NamedTuple

from pyspark.sql import SparkSession

from retable.ledger.lake.catalog import Lake
from retable.settings.load import Settings

SettingsWriter = Callable[[str], Settings]
"""Writes `retable.toml` with a lake in the test's own folder and the given TOML after it; loads it."""

CANAL_LINES = """
[sources.erp]
kind = "files"
format = "canal_json"
path = "in"
layout = "lines"
hour = '(\\d{4}-\\d\\d-\\d\\dT\\d\\d)'
"""
"""A source of objects whose lines are Canal's messages, one object an hour."""


class FreshLake(NamedTuple):
    """A lake nobody has written to, and a Spark session whose catalog it is."""

    spark: SparkSession
    lake: Lake
    settings: Settings
