"""Runs the migrations one by one with rows between them, then writes the truth: steps.py TRUTH_FOLDER PORT."""

import json
import os
import sys
from pathlib import Path
from typing import Any

import pymysql
from rows import Writer
from server_tables import write_tables

pymysql.install_as_MySQLdb()
# Django asks for a version of mysqlclient; PyMySQL has the same interface.
pymysql.version_info = (2, 2, 7, "final", 0)
os.environ["DJANGO_SETTINGS_MODULE"] = "site_settings"

import django  # noqa: E402  # it reads the settings named above
from django.apps import apps  # noqa: E402  # it reads the settings named above
from django.core.exceptions import ValidationError  # noqa: E402  # it reads the settings named above
from django.core.management import call_command  # noqa: E402  # it reads the settings named above
from django.db import DatabaseError, connection, transaction  # noqa: E402  # it reads the settings named above
from django.db.migrations.executor import MigrationExecutor  # noqa: E402  # it reads the settings named above

SEED = 2026
# Rows that the framework deletes with all that hangs on them, by its own ON DELETE rules.
CASCADES = ("auth.User", "auth.User", "auth.Group", "oauth2_provider.Application", "django_celery_beat.CrontabSchedule",
            "socialaccount.SocialApp", "taggit.Tag", "wagtailcore.Revision")  # fmt: skip


def main(truth: Path, port: int) -> None:
    """Run all steps, the cascades, and the last markers."""
    django.setup()
    own = pymysql.connect(
        host="127.0.0.1", port=port, user="capture", password="capture", database="site", charset="utf8mb4",
        autocommit=True, init_command="SET time_zone = '+00:00'",
    )  # fmt: skip
    writer = Writer(own, SEED)
    plan = MigrationExecutor(connection)
    names = [(step.app_label, step.name) for step, _ in plan.migration_plan(plan.loader.graph.leaf_nodes())]
    for number, (app, name) in enumerate(names, 1):
        print(number, app, name, flush=True)
        call_command("migrate", app, name, verbosity=0, skip_checks=True, interactive=False)
        writer.write_step()
        _mark(own, number, f"step_{number}")
    deleted = [_cascade(label) for label in CASCADES]
    _mark(own, len(names) + 1, f"step_{len(names) + 1}")
    _mark(own, len(names) + 2, "final")
    write_tables(port, "site", truth)
    _mark(own, 999999, "END")
    print(json.dumps({"migrations": len(names), "rows": writer.counts, "cascades": deleted}))


def _mark(own: "pymysql.connections.Connection[Any]", number: int, label: str) -> None:
    with own.cursor() as cursor:
        cursor.execute("INSERT INTO wl_marker (id, label) VALUES (%s, %s)", (number, label))


def _cascade(label: str) -> dict[str, int] | str:
    """Delete the oldest object of a model as the application does it; give how many rows of each model went."""
    try:
        with transaction.atomic():
            found = apps.get_model(label).objects.order_by("pk").first()
            return found.delete()[1] if found is not None else f"no {label}"
    except (DatabaseError, ValidationError, ValueError) as error:
        return f"{label}: {error}"


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
