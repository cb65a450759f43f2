"""Airflow notifiers that need no provider package: one appends alerts to a file, one posts them to a web address."""

import json
from contextlib import suppress
from ipaddress import ip_address
from pathlib import Path
from socket import gaierror, getaddrinfo
from typing import Any
from urllib.parse import quote, urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from airflow.sdk import BaseHook, BaseNotifier

from retable.printable import printable_json
from retable.settings.storage import check_host

_SECONDS = 20


class FileNotifier(BaseNotifier):
    """Appends each alert as a line of JSON to the file `path`."""

    template_fields = ()

    def __init__(self, path: str, **more: Any) -> None:
        super().__init__(**more)
        self.path = path

    def notify(self, context: Any) -> None:
        line = printable_json(json.dumps(context["alert"].facts(), ensure_ascii=False))
        with Path(self.path).open("a", encoding="utf-8") as file:
            file.write(line + "\n")


class WebhookNotifier(BaseNotifier):
    """Posts each alert as JSON to the address of the Airflow connection `conn_id`.

    The connection's password is sent as a bearer token. The address is `schema://host:port` of the connection, followed
    by its extra `path`, if this is set. The host may also be a whole URL. The address must use https. It may use http
    if it is on this machine, or if the connection has the extra `"allow_http": true`. If the answer is an error or a
    redirect, or does not come within 20 seconds, the next check sends the alert again.
    """

    template_fields = ()

    def __init__(self, conn_id: str, **more: Any) -> None:
        super().__init__(**more)
        self.conn_id = conn_id

    def notify(self, context: Any) -> None:
        connection = BaseHook.get_connection(self.conn_id)
        headers = {"Content-Type": "application/json"}
        if connection.password:
            headers["Authorization"] = f"Bearer {connection.password}"
        body = json.dumps(context["alert"].facts()).encode()
        with _STAYING.open(Request(_address(connection), body, headers, method="POST"), timeout=_SECONDS) as answer:
            answer.read()


class _Staying(HTTPRedirectHandler):
    """Refuses redirects, because the token must not be sent to another address than that of the connection."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


_STAYING = build_opener(_Staying)


def _address(connection: Any) -> str:
    host = connection.host or ""
    address = host if "://" in host else f"{connection.schema or 'https'}://{host}"
    if not address.startswith(("http://", "https://")):
        raise ValueError(
            f"the address of connection {connection.conn_id} does not begin with http:// or https://; set its schema"
        )
    if address.startswith("http://") and not (_is_here(address) or connection.extra_dejson.get("allow_http") is True):
        raise ValueError(
            f"the connection {connection.conn_id} uses http, so alerts and its password would be unencrypted: set its "
            f'schema to https, or its extra to {{"allow_http": true}}'
        )
    _check_reached(connection, urlsplit(address).hostname or "")
    port = f":{connection.port}" if connection.port else ""
    path = connection.extra_dejson.get("path", "")
    return f"{address}{port}{quote(path, safe='/?=&%')}"


def _is_here(address: str) -> bool:
    host = urlsplit(address).hostname or ""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _check_reached(connection: Any, host: str) -> None:
    """Raise ValueError if the host or an IP address of it is link-local. A cloud gives out keys at such addresses."""
    if connection.extra_dejson.get("allow_link_local") is True:
        return
    check_host(host)
    with suppress(gaierror):
        for found in getaddrinfo(host, None):
            check_host(str(found[4][0]))
