"""Addresses of databases, as JDBC spells them and as others do."""

import re

import pytest

from retable.errors import InvalidSetting
from retable.onboard.schema.databases import read_address


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


POSTGRES, MYSQL = "jdbc:postgresql://h/shop", "jdbc:mysql://h/shop"
DRIVER_OPTIONS = {
    f"{POSTGRES}?sslmode=verify-full&sslrootcert=ca.pem": {"sslmode": "verify-full", "sslrootcert": "ca.pem"},
    f"{POSTGRES}?ssl=true": {"sslmode": "verify-full"},
    f"{POSTGRES}?ssl=true&sslmode=require": {"sslmode": "require"},
    f"{POSTGRES}?ssl=false": {},
    f"{POSTGRES}?connectTimeout=10&ApplicationName=x": {},
    f"{MYSQL}?useSSL=true": {"ssl_check_hostname": "false"},
    f"{MYSQL}?sslMode=REQUIRED": {"ssl_check_hostname": "false"},
    f"{MYSQL}?useSSL=true&verifyServerCertificate=true&ssl_ca=c": {"ssl_ca": "c", "ssl_check_hostname": "false"},
    f"{MYSQL}?sslMode=VERIFY_IDENTITY&ssl_ca=c": {"ssl_ca": "c", "ssl_check_hostname": "true"},
    f"{MYSQL}?ssl_ca=c": {"ssl_ca": "c", "ssl_check_hostname": "true"},
    f"{MYSQL}?useSSL=false": {"ssl_disabled": "true"},
    f"{MYSQL}?useUnicode=true&characterEncoding=utf8&serverTimezone=UTC": {},
}


@pytest.mark.parametrize(("address", "wanted"), DRIVER_OPTIONS.items())
def test_tls_that_is_asked_for_reaches_the_driver(address: str, wanted: dict[str, str]) -> None:
    assert dict(read_address(address, None).query) == wanted


@pytest.mark.parametrize(
    ("address", "words"),
    [
        (f"{POSTGRES}?sslfactory=org.postgresql.ssl.NonValidatingFactory", "option sslfactory of the address is not"),
        (f"{POSTGRES}?sslmode=verify_full", "the address is 'verify_full'; write one of disable"),
        (f"{POSTGRES}?ssl=yes", "the option ssl of the address is 'yes'; write true or false"),
        (
            f"{MYSQL}?trustCertificateKeyStoreUrl=file:c.jks",
            "option trustcertificatekeystoreurl of the address is not",
        ),
        (f"{MYSQL}?enabledTLSProtocols=TLSv1.3", "option enabledtlsprotocols of the address is not"),
        (f"{MYSQL}?sslMode=VERIFY_CA", "ssl_ca=ca.pem"),
        (f"{MYSQL}?sslMode=STRICT", "the address is 'STRICT'; write one of DISABLED"),
        (f"{MYSQL}?useSSL=true&useSSL=false", "the option useSSL more than once"),
        ("oracle://u@h/x?protocol=tcps", "option protocol of the address is not supported"),
        ("oracle://u@h/x?wallet_location=w", "option wallet_location of the address is not supported"),
    ],
)
def test_what_cannot_be_honoured_about_tls_is_refused_by_name(address: str, words: str) -> None:
    with pytest.raises(InvalidSetting, match=re.escape(words)):
        read_address(address, None)
