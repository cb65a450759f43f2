"""Jobs under users of their own, with the rights of docs/how-to/rights.md: each does its own part only."""

import json
import os
import re
import subprocess
import sys
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

import demo_shop
from retable.ledger.lake.warehouse import LAYERS
from servers.lake_shop import FIRST, LakeShop, Place, shop_at
from servers.stores import KEY, PASSWORD, REGION, SECRET, USER, Postgres, client, moto_server

DOC = (Path(__file__).resolve().parents[2] / "docs" / "how-to" / "rights.md").read_text(encoding="utf-8")
WRITES = {
    "land": ["bronze", "ops"],
    "decode": ["silver", "statements", "quarantine", "ops"],
    "replay": ["gold", "quarantine", "ops"],
}


def block(language: str) -> str:
    found = re.search(rf"```{language}\n(.*?)```", DOC, re.DOTALL)
    assert found
    return found[1]


def policy(job: str) -> str:
    """The policy of a job as the page writes it, for the test's bucket."""
    told = json.loads(block("json").replace("my-bucket", "rights"))
    write = told["Statement"][-1]
    place, record = write["Resource"]
    if job == "upkeep":
        write |= {"Action": [*write["Action"], "s3:DeleteObject"], "Resource": [place.replace("LAYERS/", "")]}
        assert json.dumps(write["Action"]) in DOC
    else:
        write["Resource"] = [record, *(place.replace("LAYERS", layer) for layer in WRITES[job])]
        assert f"| `{job}` |" in DOC
    return json.dumps(told)


@dataclass(frozen=True)
class Rights:
    """A shop whose first window its owner has run, and the keys of each job's user."""

    shop: LakeShop
    keys: dict[str, tuple[str, str]]
    store: int
    postgres: Postgres
    database: str

    def store_as(self, job: str) -> Any:
        key, secret = self.keys[job]
        return boto3.client(
            "s3",
            endpoint_url=f"http://127.0.0.1:{self.store}",
            region_name=REGION,
            aws_access_key_id=key,
            aws_secret_access_key=secret,
            config=Config(s3={"addressing_style": "path"}, retries={"max_attempts": 1}),
        )

    def retable(self, job: str, *words: str) -> subprocess.CompletedProcess[str]:
        """Call `retable` as the user of a job."""
        user = USER if job in ("owner", "upkeep") else job
        settings = self.shop.folder / f"{job}.toml"
        settings.write_text(self.shop.file.read_text("utf-8").replace(f"//{USER}@", f"//{user}@"), encoding="utf-8")
        key, secret = self.keys[job]
        environment = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
        return subprocess.run(
            [Path(sys.executable).with_name("retable"), "--settings", settings, *words],
            env={**environment, "LAKE_KEY": key, "LAKE_SECRET": secret, "LAKE_PASSWORD": PASSWORD},
            capture_output=True,
            text=True,
            check=False,
        )

    def sql(self, statement: str, job: str | None = None) -> str:
        """Run a statement as the user of a job, or as the server's own."""
        address = ("-h", "127.0.0.1", "-p", str(self.postgres.port), "-d", self.database)
        return self.postgres.run("psql", *address, *(["-U", job] if job else []), "-c", statement)


@pytest.fixture(scope="module")
def rights(tmp_path_factory: pytest.TempPathFactory, postgres: Postgres) -> Iterator[Rights]:
    folder, database = tmp_path_factory.mktemp("rights"), f"rights_{uuid.uuid4().hex[:8]}"
    postgres.make_database(database)
    with moto_server(folder) as store:
        client(store.port).create_bucket(Bucket="rights")
        address = f"postgresql://{USER}@127.0.0.1:{postgres.port}/{database}"
        shop = shop_at(folder, Place(address, "s3://rights/lake", store.port, 'catalog_password_env = "LAKE_PASSWORD"'))
        owner = Rights(shop, {"owner": (KEY, SECRET)}, store.port, postgres, database)
        first = owner.retable("owner", "run", "shop", "--to", f"{FIRST:%Y-%m-%dT}06:00:00Z")
        assert first.returncode == 0, first.stderr
        owner.sql(block("sql"))
        keys = {job: user_of(client(store.port, "iam"), job) for job in ("land", "decode", "replay", "upkeep")}
        told = Request(f"http://127.0.0.1:{store.port}/moto-api/reset-auth", b"0", {"Content-Type": "text/plain"})
        urlopen(told).close()
        yield Rights(shop, {**owner.keys, **keys}, store.port, postgres, database)


def user_of(iam: Any, job: str) -> tuple[str, str]:
    iam.create_user(UserName=job)
    iam.put_user_policy(UserName=job, PolicyName=job, PolicyDocument=policy(job))
    key = iam.create_access_key(UserName=job)["AccessKey"]
    return key["AccessKeyId"], key["SecretAccessKey"]


def test_jobs_with_their_own_rights_bring_gold_to_the_truth(rights: Rights) -> None:
    windows = [f"{FIRST:%Y%m%d}T{FIRST.hour + number:02}00Z" for number in range(1, demo_shop.HOURS)]
    for window in windows:
        for job in ("land", "decode", "replay"):
            if job == "replay" and window == windows[0]:
                refused = rights.retable("land", "replay", "shop", "--window", window)
                assert refused.returncode in (1, 3), refused.stderr
            done = rights.retable(job, job, "shop", "--window", window)
            assert done.returncode == 0, done.stderr
    kept = rights.retable("upkeep", "upkeep")
    assert kept.returncode == 0, kept.stderr


@pytest.mark.parametrize("job", ["land", "decode", "replay"])
def test_a_job_can_neither_write_anothers_layer_nor_remove_a_file(rights: Rights, job: str) -> None:
    store = rights.store_as(job)
    for layer in {*LAYERS} - set(WRITES[job]):
        with pytest.raises(ClientError, match="AccessDenied"):
            store.put_object(Bucket="rights", Key=f"lake/{layer}/x", Body=b"")
    key = store.list_objects_v2(Bucket="rights", Prefix="lake/gold/")["Contents"][0]["Key"]
    assert store.get_object(Bucket="rights", Key=key)["Body"].read()
    with pytest.raises(ClientError, match="AccessDenied"):
        store.delete_object(Bucket="rights", Key=key)


@pytest.mark.parametrize(
    ("job", "mine", "others"),
    [("land", "bronze", "gold_webshop"), ("decode", "silver", "bronze"), ("replay", "gold_webshop", "silver")],
)
def test_a_job_cannot_commit_to_anothers_tables(rights: Rights, job: str, mine: str, others: str) -> None:
    change = "UPDATE iceberg_tables SET metadata_location = metadata_location WHERE table_namespace = '{}'"
    assert rights.sql(change.format(others), job).strip() == "UPDATE 0"
    assert rights.sql(change.format(mine), job).strip() != "UPDATE 0"
