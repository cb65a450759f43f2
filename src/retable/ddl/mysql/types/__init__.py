"""Types of MySQL and MariaDB: their gold types, and the effect of a type change on values."""
