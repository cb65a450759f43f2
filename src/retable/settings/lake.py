"""The section `[lake]` of the settings, and the properties with which Spark and pyiceberg open the lake."""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import BaseModel, Field, model_validator

from retable.settings.catalogs import CatalogAddress, GlueCatalog, PostgresCatalog, RestCatalog, SqliteCatalog
from retable.settings.storage import Bucket, S3Settings, WarehousePlace
from retable.settings.types import Age, GoldNamespace, VariableName

ReadVariable = Callable[[str], str]
"""A function that returns the value of an environment variable. It raises EnvironmentFault if it is not set."""

REQUEST_SECONDS = 60
"""How many seconds pyiceberg waits for an answer of object storage before it retries."""


class LakeSettings(BaseModel, frozen=True, extra="forbid"):
    """Where the catalog and the files of all tables are."""

    catalog: CatalogAddress
    """The catalog of all tables: `sqlite:///var/lake/catalog.db`, `postgresql://user@host/database`,
    `rest+https://host/path` or `glue://region`."""
    catalog_password_env: VariableName | None = None
    """For PostgreSQL: the environment variable that holds the password."""
    catalog_token_env: VariableName | None = None
    """For REST: the environment variable that holds a bearer token."""
    catalog_credential_env: VariableName | None = None
    """For REST: the environment variable that holds `client:secret`. OAuth exchanges it for tokens."""
    warehouse: WarehousePlace
    """The folder, or `s3://bucket/prefix`, that holds the files of all tables."""
    s3: S3Settings = S3Settings()
    """How to connect to object storage."""
    gold: GoldNamespace = "gold_{database}"
    """The namespace of gold tables. If tables of the source have a schema, `__<schema>` is added at its end."""
    case: Literal["lower", "source"] = "lower"
    """The case of table and column names in gold. `lower`: small letters, which every engine can read. `source`: as in
    the source."""
    keep_cuts: Annotated[int, Field(strict=True, ge=1)] = 72
    """The number of windows whose consistent cuts (one snapshot of every gold table) are kept. Upkeep does not expire
    these snapshots."""
    keep_ops: Age = timedelta(days=396)
    """How long the tables in the namespace `ops` keep evidence, watermarks and the record of upkeep, as `90d` or
    `1y`."""

    allow_link_local: bool = False
    """Whether addresses in the settings may be link-local (169.254.x.x). A cloud gives a machine its access keys at
    such addresses."""

    @model_validator(mode="after")
    def _check_together(self) -> Self:
        named = {"catalog_password_env": PostgresCatalog, "catalog_token_env": RestCatalog}
        for setting, kind in (named | {"catalog_credential_env": RestCatalog}).items():
            if getattr(self, setting) and not isinstance(self.catalog, kind):
                raise ValueError(
                    f"the setting {setting} does not apply to a catalog of this kind, {self.catalog}; remove it"
                )
        if self.catalog_token_env and self.catalog_credential_env:
            raise ValueError(
                "the settings catalog_token_env and catalog_credential_env are two ways to log in to the catalog; set "
                "only one of the two"
            )
        if isinstance(self.catalog, GlueCatalog):
            self._check_glue()
        return self

    def _check_glue(self) -> None:
        if not isinstance(self.warehouse, Bucket):
            raise ValueError(
                "the warehouse is a folder of this machine, which readers of a Glue catalog cannot read; set warehouse "
                "to s3://bucket/prefix"
            )
        if self.s3.variables:
            raise ValueError(
                "Glue finds its keys in the usual ways of AWS (AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, a profile, "
                "a role), and S3 uses the same keys; remove access_key_env and secret_key_env of [lake.s3]"
            )

    @property
    def catalog_file(self) -> Path | None:
        """The file of a SQLite catalog; None for any other kind of catalog."""
        return self.catalog.file if isinstance(self.catalog, SqliteCatalog) else None

    @property
    def jars(self) -> tuple[str, ...]:
        """The jars that Spark needs for this lake besides Iceberg's own jar, as Maven artifact names.

        For example, `postgresql` is needed only for a PostgreSQL catalog. The jars of other catalogs are left out,
        because each jar makes Spark's start slower.
        """
        catalog = {SqliteCatalog: ("sqlite-jdbc",), PostgresCatalog: ("postgresql", "checker-qual")}
        needs_aws = isinstance(self.warehouse, Bucket) or isinstance(self.catalog, GlueCatalog)
        return catalog.get(type(self.catalog), ()) + (("iceberg-aws-bundle",) if needs_aws else ())

    def spark(self) -> dict[str, str]:
        """Return the properties of Spark's catalog, without passwords and keys."""
        properties = {
            "warehouse": str(self.warehouse),
            # With a cache, a session would not see later commits of other sessions.
            "cache-enabled": "false",
            # Only for Hadoop's files: Iceberg's own reader of buckets has no such option.
            "hadoop.parquet.page.verify-checksum.enabled": "true",
            **self.catalog.spark(),
        }
        if isinstance(self.warehouse, Bucket):
            properties |= {
                "io-impl": "org.apache.iceberg.aws.s3.S3FileIO",
                "s3.path-style-access": str(self.s3.has_path_style).lower(),
            }
            properties |= _known({"s3.endpoint": self.s3.endpoint, "client.region": self.s3.region})
        elif not isinstance(self.catalog, SqliteCatalog):
            # Otherwise a catalog server may give its clients settings of object storage.
            properties["io-impl"] = "org.apache.iceberg.hadoop.HadoopFileIO"
        return properties

    def spark_secrets(self, read: ReadVariable) -> dict[str, str]:
        """Return the properties of Spark's catalog that are passwords or keys. They must not be logged or shown.

        `read` returns the value of an environment variable.
        """
        password = {"jdbc.password": self.catalog_password_env}
        return _read(password | self._proofs() | _s3_keys(self._store()), read)

    def pyiceberg(self, read: ReadVariable) -> dict[str, str]:
        """Return the properties of pyiceberg's catalog, including keys, but without the password of a database.

        The method `password` returns that password. `read` returns the value of an environment variable.
        """
        properties = {
            "warehouse": str(self.warehouse),
            "py-io-impl": "pyiceberg.io.pyarrow.PyArrowFileIO",
            **self.catalog.pyiceberg(),
        }
        store = self._store()
        if store is not None:
            virtual = str(not store.has_path_style).lower()
            properties |= {"s3.force-virtual-addressing": virtual, "s3.request-timeout": str(REQUEST_SECONDS)}
            properties |= _known({"s3.endpoint": store.endpoint, "s3.region": store.region})
        return properties | _read(self._proofs() | _s3_keys(store), read)

    def password(self, read: ReadVariable) -> str | None:
        """Return the password of a PostgreSQL catalog; None if `catalog_password_env` is not set.

        `read` returns the value of an environment variable.
        """
        return read(self.catalog_password_env) if self.catalog_password_env else None

    def _store(self) -> S3Settings | None:
        return self.s3 if isinstance(self.warehouse, Bucket) else None

    def _proofs(self) -> dict[str, str | None]:
        return {"token": self.catalog_token_env, "credential": self.catalog_credential_env}


def _s3_keys(store: S3Settings | None) -> dict[str, str | None]:
    if store is None:
        return {}
    return {
        "s3.access-key-id": store.access_key_env,
        "s3.secret-access-key": store.secret_key_env,
        "s3.session-token": store.session_token_env,
    }


def _known(properties: dict[str, str | None]) -> dict[str, str]:
    return {name: value for name, value in properties.items() if value is not None}


def _read(variables: dict[str, str | None], read: ReadVariable) -> dict[str, str]:
    return {name: read(variable) for name, variable in variables.items() if variable}
