"""Reads the text of the settings from an address: a file, a folder of files, an S3 object, or an address that contains
the text itself."""

import base64
import gzip
import zlib
from pathlib import Path
from typing import Protocol, cast

from retable.errors import EnvironmentFault, InvalidSetting, NotFound

SettingsAddress = Path | str
"""The path of a file or folder, `s3://bucket/key`, or an address made by `to_address`."""

_S3 = "s3://"
_OWN = "data:application/gzip;base64,"


class _S3Client(Protocol):
    def get_object(self, *, Bucket: str, Key: str) -> dict[str, object]: ...  # noqa: N803  # boto3's names


class _Body(Protocol):
    def read(self) -> bytes: ...


def to_address(text: str) -> str:
    """Return an address that contains the TOML text of the settings itself.

    A process that cannot read the settings file, such as a Spark driver on another machine, can use it.
    """
    return _OWN + base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode()


def read_texts(address: SettingsAddress) -> tuple[list[tuple[str, str]], Path | None]:
    """Read the settings at an address. Return a list of pairs (name of the file, TOML text), and a folder.

    Relative paths in the settings start at the returned folder, which is None if the settings are not in files.
    NotFound if there are no settings. EnvironmentFault if S3 cannot be read. InvalidSetting if a text is not UTF-8.
    """
    if isinstance(address, str) and address.startswith(_S3):
        return [(address, _decoded(_s3_object(address), address))], None
    if isinstance(address, str) and address.startswith(_OWN):
        return [("the settings of this run", _unpacked(address))], None
    path = Path(address)
    files = sorted(path.glob("*.toml")) if path.is_dir() else [path]
    if not files:
        raise NotFound(
            f"the folder {path} holds no settings (*.toml); name another folder or a file with --settings or "
            f"$RETABLE_SETTINGS",
            path=str(path),
        )
    return [(str(file), _file(file)) for file in files], files[0].parent.absolute()


def _file(file: Path) -> str:
    try:
        return _decoded(file.read_bytes(), str(file))
    except FileNotFoundError:
        raise NotFound(
            f"there is no settings file {file.absolute()}; name one with --settings or $RETABLE_SETTINGS, or make one "
            f"with `retable init`",
            path=str(file),
        ) from None


def _decoded(content: bytes, origin: str) -> str:
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InvalidSetting(
            f"the settings {origin} are not TOML, because they are not UTF-8 text: {error}", path=origin
        ) from error


def _unpacked(address: str) -> str:
    try:
        return gzip.decompress(base64.b64decode(address.removeprefix(_OWN), validate=True)).decode()
    except (ValueError, OSError, EOFError, zlib.error) as error:
        raise InvalidSetting(
            "the address that contains the settings is cut off or changed; start the run again"
        ) from error


def _s3_object(address: str) -> bytes:
    bucket, _, key = address.removeprefix(_S3).partition("/")
    try:
        import boto3
        from botocore.exceptions import BotoCoreError, ClientError
    except ImportError as error:
        raise EnvironmentFault(
            f"the settings at {address} cannot be read without the Python package boto3: install retable[s3]"
        ) from error
    try:
        client = cast(_S3Client, boto3.client("s3"))
        return cast(_Body, client.get_object(Bucket=bucket, Key=key)["Body"]).read()
    except ClientError as error:
        code = str(error.response.get("Error", {}).get("Code"))
        if code in ("NoSuchKey", "NoSuchBucket"):
            raise NotFound(
                f"there are no settings at {address} ({code}); correct --settings or $RETABLE_SETTINGS", path=address
            ) from None
        raise EnvironmentFault(f"{address} cannot be read: {error}; its keys come from the AWS environment") from error
    except BotoCoreError as error:
        raise EnvironmentFault(f"{address} cannot be read: {error}; its keys come from the AWS environment") from error
