"""What Retable is to `airflow providers`; Airflow asks before it is itself whole, so nothing of it is loaded here."""

from typing import Any


def provider_info() -> dict[str, Any]:
    """Tell the package's name, and the notifiers that it brings."""
    return {
        "package-name": "retable",
        "name": "Retable",
        "description": "Replays database change logs into Apache Iceberg tables.",
        "notifications": ["retable_airflow.notify.FileNotifier", "retable_airflow.notify.WebhookNotifier"],
    }
