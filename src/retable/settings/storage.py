"""Settings of storage locations: a folder of this machine, or a prefix of a bucket, and the access to a bucket."""

import re
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from socket import inet_aton, inet_ntoa
from typing import Annotated, Self
from urllib.parse import SplitResult, urlsplit

from pydantic import AfterValidator, BaseModel, PlainValidator, ValidationInfo, model_validator

from retable.printable import without_passwords
from retable.settings.types import VariableName, from_folder

S3 = "s3://"

_BUCKET = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
_METADATA = frozenset({"100.100.100.200", "192.0.0.192", "fd00:ec2::254", "fd20:ce::254"})
"""The addresses of the metadata services of Alibaba Cloud, Oracle Cloud, AWS and Google besides 169.254.169.254."""
_METADATA_NAMES = frozenset({"metadata", "metadata.google.internal", "metadata.goog"})
_LINK_LOCAL = "if you intend that, set `allow_link_local = true` (in [lake], or in the extra of a connection)"
_HOST = re.compile(r"[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\]")


@dataclass(frozen=True, slots=True)
class Bucket:
    """A storage location in a bucket of object storage. `prefix` is the start of the object names, like a folder."""

    name: str
    prefix: str = ""

    def __str__(self) -> str:
        return f"{S3}{self.name}/{self.prefix}".rstrip("/")


def web_address(value: object) -> str:
    """Check an http or https address, and return it without a slash at its end.

    The address may have a port and a path. ValueError if it is not such an address, or if it contains a user, a query
    or a fragment.
    """
    text = str(value)
    parts = split(text)
    if parts is None or parts.scheme not in ("http", "https") or parts.query or parts.fragment:
        raise ValueError(f"{shown(text)} is not an http or https address of a server; write it as https://host:port")
    check_server(parts.netloc, text)
    return text.rstrip("/")


def split(text: str) -> SplitResult | None:
    """Return the parts of an address; None if it is invalid."""
    try:
        parts = urlsplit(text)
        _ = parts.port
    except ValueError:
        return None
    return parts


def check_server(server: str, text: str) -> None:
    """Raise ValueError if `server` is not `host` or `host:port`. `text` is the whole address, for the error."""
    if not _HOST.fullmatch(re.sub(r":\d+$", "", server)):
        raise ValueError(
            f"{shown(text)} does not name a server; write the server in it as host or host:port, without a user name"
        )


def check_host(host: str) -> None:
    """Raise ValueError if a host is link-local (169.254.x.x), or a cloud's metadata service.

    A machine in a cloud gets its access keys from such a host, so no address in the settings should lead there.
    """
    try:
        # A single number, and an address with fewer than four parts, are valid IPv4 addresses too.
        found = ip_address(inet_ntoa(inet_aton(host)))
    except OSError:
        try:
            found = ip_address(host.strip("[]").partition("%")[0])
        except ValueError:
            if host.lower().rstrip(".") in _METADATA_NAMES:
                raise ValueError(f"the host {host} is a metadata service of a cloud; {_LINK_LOCAL}") from None
            return
    mapped = getattr(found, "ipv4_mapped", None) or found
    if mapped.is_link_local or str(mapped) in _METADATA:
        raise ValueError(f"the host {host} is link-local, or a metadata service of a cloud; {_LINK_LOCAL}")


def shown(text: str) -> str:
    """Return an address in quotes for an error, without its password."""
    return repr(without_passwords(text))


def _place(value: object, info: ValidationInfo) -> Path | Bucket:
    if isinstance(value, Bucket):
        return value
    if isinstance(value, str) and re.search("://[^/]*:.*@", value):
        raise ValueError(
            "an address must not contain keys; write s3://bucket/prefix, and write the names of the environment "
            "variables that hold the keys as access_key_env and secret_key_env"
        )
    if isinstance(value, str) and value.startswith(S3):
        return bucket(value)
    if not isinstance(value, str | Path) or "://" in str(value):
        raise ValueError(
            f"{value!r} is neither a folder of this machine nor a bucket; write a bucket as s3://bucket/prefix"
        )
    return from_folder(value, info)


def check_path(path: Path | Bucket) -> Path | Bucket:
    """Return the path unchanged, or raise ValueError if it contains `#`, `?` or `%`.

    These characters have a meaning in the address of a file.
    """
    if found := re.search(r"[#?%]", str(path)):
        raise ValueError(
            f"the path {str(path)!r} contains {found[0]!r}, which the address of a file cannot contain; use another "
            f"path"
        )
    return path


def bucket(text: str) -> Bucket:
    """Parse `s3://bucket/prefix`. ValueError if the name or the prefix is invalid."""
    name, _, prefix = text.removeprefix(S3).partition("/")
    if not _BUCKET.fullmatch(name) or ".." in name or re.fullmatch(r"[\d.]+", name):
        raise ValueError(
            f"{name!r} in {text!r} is not a valid name of a bucket; write 3 to 63 small letters, digits, dots and "
            f"hyphens, as s3://my-bucket/prefix"
        )
    if re.search(r"[\x00-\x1f?#%]", prefix) or {".", ".."} & set(prefix.split("/")) or "//" in prefix:
        raise ValueError(
            f"{prefix!r} in {text!r} is not a valid prefix; put single slashes between folders, as s3://bucket/a/b, "
            f"and do not use ? # % or a folder . or .."
        )
    return Bucket(name, prefix.rstrip("/"))


StorageLocation = Annotated[Path | Bucket, PlainValidator(_place)]
"""a folder, or `s3://bucket/prefix`"""
WarehousePlace = Annotated[Path | Bucket, PlainValidator(_place), AfterValidator(check_path)]
"""a folder, or `s3://bucket/prefix`"""
WebAddress = Annotated[str, AfterValidator(web_address)]
"""an address of http or https"""


class S3Settings(BaseModel, frozen=True, extra="forbid"):
    """How to connect to object storage. A source may have its own settings, if its bucket is in another store."""

    endpoint: WebAddress | None = None
    """The address of an object store that is not AWS S3, as `https://minio.example:9000`."""
    region: str | None = None
    """The region of the bucket. Not set: AWS's own settings decide."""
    path_style: bool | None = None
    """Whether the bucket is in the path of a request's address. If not, the bucket is in the host name. Not set: true
    if `endpoint` is set."""
    access_key_env: VariableName | None = None
    """The environment variable that holds the access key. Not set: AWS's own settings decide."""
    secret_key_env: VariableName | None = None
    """The environment variable that holds the secret key."""
    session_token_env: VariableName | None = None
    """The environment variable that holds the session token of temporary keys."""

    @model_validator(mode="after")
    def _check_keys(self) -> Self:
        if (self.access_key_env is None) != (self.secret_key_env is None):
            raise ValueError("access_key_env and secret_key_env are used together; set both, or neither")
        if self.session_token_env and not self.access_key_env:
            raise ValueError("session_token_env needs access_key_env and secret_key_env; set these two settings too")
        return self

    @property
    def has_path_style(self) -> bool:
        """Whether the bucket is in the path of a request's address: the setting `path_style`, or its default."""
        return self.endpoint is not None if self.path_style is None else self.path_style

    @property
    def variables(self) -> dict[str, str]:
        """The names of the environment variables that hold the access keys, by the setting that names them.

        For example, `{"access_key_env": "SHOP_KEY"}`. Settings that are not set are left out.
        """
        fields = ("access_key_env", "secret_key_env", "session_token_env")
        return {field: name for field in fields if (name := getattr(self, field))}
