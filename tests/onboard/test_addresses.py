"""Addresses of databases, as JDBC spells them and as others do."""

import pytest

from retable.onboard.databases import read_address


@pytest.mark.parametrize(
    ("address", "service"),
    [
        ("jdbc:oracle:thin:@//h:1521/my-svc", "my-svc"),
        ("jdbc:oracle:thin:@h-1.example.com:1521:ORCL", "ORCL"),
        ("jdbc:oracle:thin:@//h/svc.example.com", "svc.example.com"),
    ],
)
def test_the_service_of_an_oracle_is_read_whole(address: str, service: str) -> None:
    url = read_address(address, None)
    assert (url.get_backend_name(), url.query["service_name"]) == ("oracle", service)
