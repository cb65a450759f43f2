"""Read the DDL of MySQL and MariaDB."""
