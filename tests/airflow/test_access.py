"""What the plugin adds to Airflow: nothing that anybody could call from outside."""

from airflow.plugins_manager import AirflowPlugin

from retable_airflow.plugin import RetablePlugin

SERVED = ("fastapi_apps", "fastapi_root_middlewares", "flask_blueprints", "appbuilder_views", "external_views")


def test_the_plugin_serves_nothing() -> None:
    assert issubclass(RetablePlugin, AirflowPlugin)
    assert {name: list(getattr(RetablePlugin, name, [])) for name in SERVED} == {name: [] for name in SERVED}
