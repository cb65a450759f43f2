"""Get jars by their Maven coordinates through Spark's own resolver: `resolve_jars.py FOLDER COORDINATES…`."""

import sys

from pyspark import SparkConf
from pyspark.java_gateway import launch_gateway


def main() -> None:
    folder, *coordinates = sys.argv[1:]
    conf = SparkConf(loadDefaults=False).set("spark.jars.ivy", folder).set("spark.jars.packages", ",".join(coordinates))
    # spark-submit resolves before it starts anything; the JVM ends with this process.
    launch_gateway(conf)  # type: ignore[no-untyped-call]  # PySpark leaves it untyped


if __name__ == "__main__":
    main()
