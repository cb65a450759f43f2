"""The DDL of MySQL and MariaDB."""
