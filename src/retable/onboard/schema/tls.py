"""Translates the TLS options of a database address for its Python driver. Unsupported options are errors."""

import re
from collections.abc import Mapping

from retable.errors import InvalidSetting

_ABOUT = re.compile(r"ssl|tls|cert|trust|wallet|encrypt|protocol", re.IGNORECASE)
_POSTGRES = ("sslmode", "sslrootcert", "sslcert", "sslkey", "ssl")
_POSTGRES_MODES = ("disable", "allow", "prefer", "require", "verify-ca", "verify-full")
_MYSQL = ("sslmode", "usessl", "requiressl", "verifyservercertificate", "ssl_ca", "ssl_cert", "ssl_key")
_MYSQL_MODES = ("disabled", "preferred", "required", "verify_ca", "verify_identity")
_SPELLED = "sslMode, useSSL, requireSSL, verifyServerCertificate, ssl_ca, ssl_cert, ssl_key"


def tls_of(backend: str, options: Mapping[str, str]) -> dict[str, str]:
    """Return the TLS options of an address in the form of the database's Python driver.

    `backend` is the database system, as `mysql`. InvalidSetting names an unsupported TLS option or a wrong value.
    For PostgreSQL, the options of libpq are supported, and JDBC's `ssl=true`, which means `verify-full`. For MySQL and
    MariaDB, the options of their JDBC drivers are supported, with PEM files as `ssl_ca`, `ssl_cert`, `ssl_key`.
    """
    options = {name.lower(): value for name, value in options.items() if _ABOUT.search(name)}
    match backend:
        case "postgresql":
            _check_known(options, _POSTGRES, ", ".join(_POSTGRES))
            return _postgres(options)
        case "mysql" | "mariadb":
            _check_known(options, _MYSQL, _SPELLED)
            return _mysql(options)
    _check_known(options, (), "none for this database")
    return {}


def _check_known(options: Mapping[str, str], known: tuple[str, ...], spelled: str) -> None:
    for name in options:
        if name not in known:
            raise InvalidSetting(
                f"the TLS option {name} of the address is not supported; the supported TLS options are: {spelled}"
            )


def _postgres(options: Mapping[str, str]) -> dict[str, str]:
    found = {name: value for name, value in options.items() if name != "ssl"}
    if _is_true(options, "ssl"):
        found.setdefault("sslmode", "verify-full")
    if found.get("sslmode", "prefer") not in _POSTGRES_MODES:
        raise InvalidSetting(
            f"the option sslmode of the address is {found['sslmode']!r}; write one of {', '.join(_POSTGRES_MODES)}"
        )
    return found


def _mysql(options: Mapping[str, str]) -> dict[str, str]:
    mode = options["sslmode"].lower().replace("-", "_") if "sslmode" in options else _old_mode(options)
    if mode not in _MYSQL_MODES:
        raise InvalidSetting(
            f"the option sslMode of the address is {options['sslmode']!r}; write one of "
            f"{', '.join(_MYSQL_MODES).upper()}"
        )
    files = {name: options[name] for name in ("ssl_ca", "ssl_cert", "ssl_key") if name in options}
    if mode.startswith("verify") and "ssl_ca" not in files:
        raise InvalidSetting(
            "the address asks to verify the server, but names no certificate authority; add ssl_ca=ca.pem to it, the "
            "file with the authority's certificate"
        )
    if mode == "disabled":
        return {"ssl_disabled": "true"}
    if mode == "preferred" and not files:
        return {}
    # If any of these options is given, the driver refuses a server without TLS.
    return {**files, "ssl_check_hostname": str(mode == "verify_identity").lower()}


def _old_mode(options: Mapping[str, str]) -> str:
    """Return the `sslMode` that corresponds to the older options, such as `useSSL`."""
    if "usessl" in options and not _is_true(options, "usessl"):
        return "disabled"
    if _is_true(options, "verifyservercertificate"):
        return "verify_ca"
    if _is_true(options, "usessl") or _is_true(options, "requiressl"):
        return "required"
    return "verify_identity" if "ssl_ca" in options else "preferred"


def _is_true(options: Mapping[str, str], name: str) -> bool:
    value = options.get(name)
    if value is None:
        return False
    if value.lower() not in ("true", "false"):
        raise InvalidSetting(f"the option {name} of the address is {value!r}; write true or false")
    return value.lower() == "true"
