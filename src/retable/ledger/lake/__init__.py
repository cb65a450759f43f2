"""The lake (Retable's catalog and warehouse): open it, read and write its files, and translate its errors."""
