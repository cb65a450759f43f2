"""Column types of MySQL and MariaDB: their gold types, and what a type change does to stored values."""
