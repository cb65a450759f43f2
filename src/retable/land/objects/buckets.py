"""List and read the objects of a bucket. Only the recorded version of an object is read."""

import hashlib
import io
import re
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC
from functools import lru_cache, partial
from typing import Any, BinaryIO, cast

from retable.errors import ConflictError, EnvironmentFault, NotFound, PositionsLost, RetableError, Unavailable
from retable.land.objects.unfinished import is_unfinished
from retable.ledger.windows.objects import FoundObject
from retable.model.window import SourceObject
from retable.settings.load import read_variable
from retable.settings.sources import FilesSource
from retable.settings.storage import Bucket, S3Settings

ATTEMPTS = 8
"""How often a request or a read is tried before the store counts as unavailable."""

_CONNECT_SECONDS, _READ_SECONDS = 10, 60
_LONGEST_PAUSE = 10.0
_AT_ONCE = 16
_BLOCK = 1 << 20
_MD5 = re.compile(r"[0-9a-f]{32}")
"""The etag of an object that was stored by one request, as most stores make it."""

_REFUSED = {
    "NoSuchBucket": "there is no such bucket; make it, or correct the address",
    "InvalidAccessKeyId": "it does not know the access key; check the variable that `access_key_env` names",
    "SignatureDoesNotMatch": "it refuses the secret key; check the variable that `secret_key_env` names",
    "RequestTimeTooSkewed": "its clock and this machine's clock differ too much; correct the clock, then run again",
    "ExpiredToken": "the session token has expired; renew it, then run the command again",
    "InvalidObjectState": "one of its objects is archived; restore the object first, then run the command again",
    "AccessDenied": "it does not allow that (403); its keys must be allowed to list the bucket and to read the prefix",
}


@dataclass(frozen=True, slots=True)
class BucketObjects:
    """Access to the objects under a prefix of a bucket. It is pickled and sent to Spark's workers.

    `opening` are the options with which a worker opens a boto3 client. An etag identifies one content: if an object has
    another etag, it is another object.
    """

    bucket: Bucket
    opening: tuple[tuple[str, object], ...] = field(repr=False)

    def list(self) -> list[FoundObject]:
        """Return all objects, sorted by name, without auxiliary files of writers such as `_SUCCESS` or `*.tmp`."""
        start = self._key("")
        with _explained(self.bucket):
            pages = self._client().get_paginator("list_objects_v2").paginate(Bucket=self.bucket.name, Prefix=start)
            # A store may give a page twice: a dict keeps each object once.
            found = {entry["Key"]: entry for page in pages for entry in page.get("Contents", ())}
        keys = sorted(key for key in found if not _is_left_out(key.removeprefix(start), found[key]["Size"]))
        return [self._found(key.removeprefix(start), found[key]) for key in keys]

    def check(self, items: Iterable[SourceObject]) -> None:
        """Raise PositionsLost if one of these objects is gone or has changed since it was recorded."""
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            for _ in pool.map(self._check, items):
                pass

    @contextmanager
    def open(self, item: SourceObject) -> Iterator[BinaryIO]:
        """Open the recorded version of an object. If the connection breaks, reading resumes at the same byte."""
        with _explained(self.bucket), _Content(self, item) as content:
            yield cast(BinaryIO, content)

    def has_grown(self, item: SourceObject, earlier: SourceObject) -> bool:
        """Return whether `item` has all bytes of `earlier`, and more. It is False if the etag of that is no MD5.

        Raise ConflictError if the object is replaced while it is read.
        """
        if item.size <= earlier.size or not _MD5.fullmatch(earlier.etag.lower()):
            return False
        digest, left = hashlib.md5(usedforsecurity=False), earlier.size
        try:
            with self.open(item) as content:
                while left and (block := content.read(min(left, _BLOCK))):
                    digest.update(block)
                    left -= len(block)
        except PositionsLost as error:
            text = f"{self._address(item)} was replaced or removed while it was read; try again"
            raise ConflictError(text) from error
        return digest.hexdigest() == earlier.etag.lower()

    def ask(self, item: SourceObject, at: int) -> Any:
        """Request the recorded version of an object from byte `at` on, and return the body of boto3's answer.

        Raise PositionsLost if the object is gone or has changed.
        """
        only = {"IfMatch": f'"{item.etag}"'} if item.etag else {}
        rest = {"Range": f"bytes={at}-"} if at else {}
        try:
            answer = self._client().get_object(Bucket=self.bucket.name, Key=self._key(item.key), **only, **rest)
        except _client_error() as error:
            raise self._lost(item, _code(error)) or error from error
        if item.etag and (_etag(answer), at + answer.get("ContentLength", 0)) != (item.etag, item.size):
            # An answer may break off in its headers, so a difference here does not prove that the object changed.
            self._check(item)
            raise _incomplete(item)
        return answer["Body"]

    def _found(self, key: str, entry: dict[str, Any]) -> FoundObject:
        etag, modified = _etag(entry), entry["LastModified"].astimezone(UTC)
        item = SourceObject(0, key, etag, entry["Size"])
        return FoundObject(key, item.size, modified, modified, lambda: etag, partial(self.has_grown, item))

    def _check(self, item: SourceObject) -> None:
        with _explained(self.bucket):
            try:
                answer = self._client().head_object(Bucket=self.bucket.name, Key=self._key(item.key))
            except _client_error() as error:
                raise self._lost(item, _code(error)) or error from error
        if (_etag(answer), answer["ContentLength"]) != (item.etag, item.size):
            raise self._replaced(item)

    def _lost(self, item: SourceObject, code: str) -> PositionsLost | None:
        if code in ("404", "NoSuchKey", "NoSuchVersion"):
            return self._gone(item, "is gone")
        return self._replaced(item) if code in ("412", "PreconditionFailed") else None

    def _replaced(self, item: SourceObject) -> PositionsLost:
        return self._gone(item, "is another object now")

    def _gone(self, item: SourceObject, what: str) -> PositionsLost:
        address = self._address(item)
        return PositionsLost(
            f"{address} {what} since its window was recorded, and it was not landed yet; put the object back as it "
            f"was, under the same name (a new version of it goes under a new name, or into a later window)",
            path=address,
        )

    def _address(self, item: SourceObject) -> str:
        return f"s3://{self.bucket.name}/{self._key(item.key)}"

    def _key(self, key: str) -> str:
        return f"{self.bucket.prefix}/{key}" if self.bucket.prefix else key

    def _client(self) -> Any:
        return _client_of(self.opening)


def bucket_objects(source: FilesSource, bucket: Bucket) -> BucketObjects:
    """Open the bucket of a source. Access keys are read from this process's environment."""
    return BucketObjects(bucket, tuple(_opening(source.s3).items()))


def _opening(s3: S3Settings) -> dict[str, object]:
    names = {
        "access_key_env": "aws_access_key_id",
        "secret_key_env": "aws_secret_access_key",
        "session_token_env": "aws_session_token",
    }
    keys = {names[setting]: read_variable(variable) for setting, variable in s3.variables.items()}
    style = "path" if s3.has_path_style else "auto"
    return {"endpoint_url": s3.endpoint, "region_name": s3.region, "style": style, **keys}


@lru_cache(64)
def _client_of(opening: tuple[tuple[str, object], ...]) -> Any:
    """Make a client; all threads of a process share one for each store."""
    try:
        import boto3
        from botocore.config import Config
    except ImportError as error:
        raise EnvironmentFault("reading objects of S3 needs the package boto3: `pip install 'retable[s3]'`") from error
    options = dict(opening)
    config = Config(
        s3={"addressing_style": options.pop("style")},
        retries={"mode": "standard", "total_max_attempts": ATTEMPTS},
        connect_timeout=_CONNECT_SECONDS,
        read_timeout=_READ_SECONDS,
        max_pool_connections=_AT_ONCE,
    )
    return boto3.client("s3", config=config, **cast(Any, options))


class _Content(io.RawIOBase):
    """The bytes of one version of an object; after a broken connection, reading resumes at the same byte."""

    def __init__(self, objects: BucketObjects, item: SourceObject) -> None:
        self._objects, self._item = objects, item
        self._at, self._body = 0, cast(Any, None)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview, /) -> int:  # type: ignore[override]  # its callers pass no other
        wanted = min(len(buffer), self._item.size - self._at)
        block = self._read(wanted) if wanted else b""
        buffer[: len(block)] = block
        self._at += len(block)
        return len(block)

    def close(self) -> None:
        if self._body is not None:
            self._body.close()
        super().close()

    def _read(self, wanted: int) -> bytes:
        from botocore.exceptions import FlexibleChecksumError, HTTPClientError, IncompleteReadError

        for attempt in range(ATTEMPTS):
            try:
                self._body = self._body or self._objects.ask(self._item, self._at)
                if block := cast(bytes, self._body.read(wanted)):
                    return block
            except FlexibleChecksumError as error:
                damaged = f"{self._item.key} of {self._objects.bucket} arrived damaged"
                raise Unavailable(f"{damaged}: its checksum is wrong; run the command again") from error
            except (HTTPClientError, IncompleteReadError):
                pass
            self._body = None
            time.sleep(min(_LONGEST_PAUSE, 0.1 * 2**attempt))
        raise Unavailable(
            f"reading {self._item.key} of {self._objects.bucket} stopped at byte {self._at} of {self._item.size}, "
            f"{ATTEMPTS} times; run the command again when the store works"
        )


@contextmanager
def _explained(bucket: Bucket) -> Iterator[None]:
    """Turn a boto3 error into an error that says what to do."""
    from botocore.exceptions import BotoCoreError, ClientError, NoCredentialsError, NoRegionError

    try:
        yield
    except RetableError:
        raise
    except ClientError as error:
        raise _answered(bucket, error) from error
    except (NoCredentialsError, NoRegionError) as error:
        raise EnvironmentFault(
            f"{bucket}: {error}; set access_key_env, secret_key_env and region under `s3`, or set AWS's own variables"
        ) from error
    except BotoCoreError as error:
        raise Unavailable(f"{bucket} does not answer: {error}; run the command again when the store is up") from error


def _answered(bucket: Bucket, error: Any) -> RetableError:
    code, status = _code(error), error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    if status >= 500 or code in ("SlowDown", "Throttling", "RequestTimeout", "InternalError"):
        return Unavailable(f"{bucket} does not work now: {error}; run the command again later")
    if code == "NoSuchBucket":
        return NotFound(f"{bucket}: {_REFUSED[code]}", path=str(bucket))
    remedy = _REFUSED.get(code) or (_REFUSED["AccessDenied"] if status == 403 else f"the store reports {error}")
    return EnvironmentFault(f"{bucket}: {remedy}")


def _is_left_out(key: str, size: int) -> bool:
    """Return whether a key is not an object of a source: a writer's auxiliary file, or an empty object for a folder."""
    return is_unfinished(key) or (size == 0 and key.endswith("/")) or not key


def _etag(answer: dict[str, Any]) -> str:
    return str(answer.get("ETag", "")).strip('"')


def _client_error() -> type[Exception]:
    from botocore.exceptions import ClientError

    return cast(type[Exception], ClientError)


def _incomplete(item: SourceObject) -> Exception:
    from botocore.exceptions import IncompleteReadError

    return cast(Exception, IncompleteReadError(actual_bytes=0, expected_bytes=item.size))


def _code(error: Any) -> str:
    return str(error.response.get("Error", {}).get("Code", ""))
