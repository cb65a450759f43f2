"""Retable's entry in `airflow providers`. Airflow reads it while Airflow itself is still loading, so this module does
not import Airflow."""

from typing import Any


def provider_info() -> dict[str, Any]:
    """Return the package's name and its notifiers, as Airflow requires."""
    return {
        "package-name": "retable",
        "name": "Retable",
        "description": "Replays database change logs into Apache Iceberg tables.",
        "notifications": ["retable_airflow.notify.FileNotifier", "retable_airflow.notify.WebhookNotifier"],
    }
