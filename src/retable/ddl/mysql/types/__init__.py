"""Types of MySQL and MariaDB: in gold, and what a change of type does to values."""
