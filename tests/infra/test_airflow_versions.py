"""What `pyproject.toml` says of Airflow: its packages go together with the oldest version and with the newest."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
@pytest.mark.parametrize("airflow", ["apache-airflow==3.2.0", "apache-airflow>=3.3,<4"])
def test_the_wheel_can_be_installed_beside_an_airflow(airflow: str) -> None:
    asked = ["install", "--dry-run", "--ignore-installed", "--quiet", f"{ROOT}[airflow]", airflow]
    done = subprocess.run([sys.executable, "-m", "pip", *asked], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
