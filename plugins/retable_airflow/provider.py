"""Retable's entry in `airflow providers`; Airflow reads it while it is still loading, so nothing is loaded here."""

from typing import Any


def provider_info() -> dict[str, Any]:
    """Give the package's name, and its notifiers."""
    return {
        "package-name": "retable",
        "name": "Retable",
        "description": "Replays database change logs into Apache Iceberg tables.",
        "notifications": ["retable_airflow.notify.FileNotifier", "retable_airflow.notify.WebhookNotifier"],
    }
