"""The zone and the language of a machine change no row of gold."""

import os
import subprocess
import sys
from pathlib import Path

from faults.shop_lake import WHOLE, ShopLake


def test_a_run_of_a_machine_elsewhere_leaves_the_same_rows(shop: ShopLake) -> None:
    done = subprocess.run(
        [Path(sys.executable).with_name("retable"), "run", "shop", "--to", WHOLE],
        cwd=shop.folder,
        env={**os.environ, "TZ": "Pacific/Chatham", "LC_ALL": "tr_TR.UTF-8", "LANG": "tr_TR.UTF-8"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert shop.different() == {}
    verified = shop.call("verify", "gold_shop.orders")
    assert verified.exit_code == 0, verified.output
