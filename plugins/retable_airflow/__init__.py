"""Retable in Airflow: what the DAGs are made of."""
