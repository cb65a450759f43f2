--- SQL Server: pairs of a statement and what it means
--- in shop.dbo.t

--- CREATE TABLE
CREATE TABLE t (id int NOT NULL PRIMARY KEY, v nvarchar(50) NULL)
-- => create shop.dbo.t (id int not null, v nvarchar(50); key id)
CREATE TABLE [dbo].[t]( [id] [int] IDENTITY(1,1) NOT NULL, [name] [nvarchar](50) COLLATE Latin1_General_CI_AS NULL, [price] [decimal](10, 2) NOT NULL, CONSTRAINT [PK_t] PRIMARY KEY CLUSTERED ([id] ASC) WITH (PAD_INDEX = OFF, IGNORE_DUP_KEY = OFF) ON [PRIMARY]) ON [PRIMARY] TEXTIMAGE_ON [PRIMARY]
-- => create shop.dbo.t (id int not null, name nvarchar(50), price decimal(10,2) not null; key id)
CREATE TABLE crm.sales.[Order Lines] ([a b] int, "c d" bigint, [e]]f] bit, col$1# tinyint)
-- => create crm.sales.`Order Lines` (`a b` int, `c d` bigint, `e]f` bit, col$1# tinyint; no key)
CREATE TABLE shop..u (id int)
-- => create shop.dbo.u (id int; no key)
CREATE TABLE T (ID int, V varchar(max))
-- => create shop.dbo.t (ID int, V varchar(max); no key)
CREATE TABLE t (a tinyint, b smallint, c bigint, d bit, e decimal, f numeric(9), g dec(38,10), h money, i smallmoney, j float, k float(24), l real, m double precision)
-- => create shop.dbo.t (a tinyint, b smallint, c bigint, d bit, e decimal, f numeric(9), g dec(38,10), h money, i smallmoney, j float, k float(24), l real, m double precision; no key)
CREATE TABLE t (a date, b datetime, c datetime2, d datetime2(3), e smalldatetime, f datetimeoffset(7), g time(0), h char(5), i nchar(5), j varchar(20), k nvarchar(max), l text, m ntext, n sysname, o uniqueidentifier, p xml)
-- => create shop.dbo.t (a date, b datetime, c datetime2, d datetime2(3), e smalldatetime, f datetimeoffset(7), g time(0), h char(5), i nchar(5), j varchar(20), k nvarchar(max), l text, m ntext, n sysname, o uniqueidentifier, p xml; no key)
CREATE TABLE t (a binary(8), b varbinary(max), c image, d rowversion, e timestamp, f geography, g geometry, h hierarchyid, i sql_variant, j national character varying(9), k char varying(5), l [dbo].[Flag], m xml(CONTENT dbo.x))
-- => create shop.dbo.t (a binary(8), b varbinary(max), c image, d rowversion, e timestamp, f geography, g geometry, h hierarchyid, i sql_variant, j national character varying(9), k char varying(5), l dbo.Flag, m xml(CONTENT dbo . x); no key)
CREATE TABLE t (a int DEFAULT 5, b int CONSTRAINT DF_b DEFAULT ((0)) NOT NULL, c varchar(9) DEFAULT N'it''s', d datetime DEFAULT (getdate()), e uniqueidentifier DEFAULT newsequentialid() ROWGUIDCOL, f bit DEFAULT 'true', g money DEFAULT -1.50, h varbinary(4) DEFAULT 0xFF01, i char(3) DEFAULT 'x', j int DEFAULT NULL, k date DEFAULT '20200131', l int DEFAULT (NEXT VALUE FOR dbo.s))
-- => create shop.dbo.t (a int default '5', b int not null default '0', c varchar(9) default "it's", d datetime default computed, e uniqueidentifier default computed, f bit default '1', g money default '-1.5', h varbinary(4) default 'ÿ\x01', i char(3) default 'x  ', j int default null, k date default '2020-01-31', l int default computed; no key)
CREATE TABLE t (a int, b AS (a * 2) PERSISTED NOT NULL, c AS a + 1, d int SPARSE NULL, e int MASKED WITH (FUNCTION = 'default()'), f int CHECK (f > 0), g int REFERENCES u (id) ON DELETE SET NULL ON UPDATE NO ACTION, h int FOREIGN KEY REFERENCES dbo.u, i int UNIQUE NONCLUSTERED, j int INDEX ix)
-- => create shop.dbo.t (a int, d int, e int, f int, g int, h int, i int, j int, …; no key)
CREATE TABLE t (a int NOT NULL, b int NOT NULL, PRIMARY KEY NONCLUSTERED HASH (b, a DESC) WITH (BUCKET_COUNT = 100), UNIQUE (a), INDEX ix CLUSTERED (a) INCLUDE (b) WHERE a > 5, CHECK (a > b), CONSTRAINT f FOREIGN KEY (a) REFERENCES u (id) ON DELETE CASCADE, CONSTRAINT d DEFAULT 5 FOR a) WITH (MEMORY_OPTIMIZED = ON)
-- => create shop.dbo.t (a int not null, b int not null; key b, a)
CREATE TABLE t (id int PRIMARY KEY, s datetime2 GENERATED ALWAYS AS ROW START HIDDEN NOT NULL, e datetime2 GENERATED ALWAYS AS ROW END NOT NULL, PERIOD FOR SYSTEM_TIME (s, e)) WITH (SYSTEM_VERSIONING = ON (HISTORY_TABLE = dbo.h))
-- => create shop.dbo.t (id int not null, s datetime2 not null, e datetime2 not null; key id)
CREATE TABLE t (id int NOT NULL, amount integer PRIMARY KEY(id))
-- => create shop.dbo.t (id int not null, amount integer; key id)
CREATE TABLE t (id int, d date) ON ps(d)
-- => create shop.dbo.t (id int, d date; no key)
CREATE TABLE t (id int, v int,)
-- => create shop.dbo.t (id int, v int; no key)
CREATE TABLE t (a int, b AS a + 1, PRIMARY KEY (b))
-- => unsupported for shop.dbo.t: the type of column 'b' in the primary key is not known, because the column is computed
CREATE TABLE #t (id int)
-- => nothing: temporary table
CREATE TABLE t AS FILETABLE
-- => unsupported for shop.dbo.t: CREATE TABLE declares no columns, so the columns of the table are not known
CREATE TABLE t (id int FOO)
-- => unsupported for shop.dbo.t: Retable does not understand 'id int FOO)' in the statement: the problem begins at 'FOO)'
SELECT a, b INTO dbo.u FROM t
-- => unsupported for shop.dbo.t: Retable does not understand 'SELECT a, b INTO dbo.u FROM t' in the statement

--- ALTER TABLE: ADD
ALTER TABLE t ADD a int
-- => add to shop.dbo.t: a int
ALTER TABLE dbo.t ADD a int NULL, b nvarchar(20) NOT NULL DEFAULT N'x', [c d] datetime2(3)
-- => add to shop.dbo.t: a int | add to shop.dbo.t: b nvarchar(20) not null default 'x' | add to shop.dbo.t: `c d` datetime2(3)
ALTER TABLE t ADD a int NOT NULL, b AS (a) 
-- => unsupported for shop.dbo.t: the source computes column 'b' in old rows, and the log has no event with the values; `retable hold release --as` can declare a plain column, which does not get these values
ALTER TABLE t ADD a int NOT NULL
-- => add to shop.dbo.t: a int not null default null
ALTER TABLE t ADD a int DEFAULT 5
-- => add to shop.dbo.t: a int
ALTER TABLE t ADD a int DEFAULT 5 WITH VALUES
-- => add to shop.dbo.t: a int default '5'
ALTER TABLE t ADD a int CONSTRAINT DF_a DEFAULT ((5)) WITH VALUES NULL
-- => add to shop.dbo.t: a int default '5'
ALTER TABLE t ADD a datetime NOT NULL DEFAULT getdate()
-- => add to shop.dbo.t: a datetime not null default computed
ALTER TABLE t ADD a datetime NOT NULL CONSTRAINT DF_a DEFAULT '2020-01-31'
-- => unsupported for shop.dbo.t: the value of column 'a' in old rows is not known: Retable cannot convert its DEFAULT to datetime as the source does; write another default with `retable hold release --as`
ALTER TABLE t ADD a datetime NOT NULL DEFAULT '2020-01-31T10:20:30'
-- => add to shop.dbo.t: a datetime not null default '2020-01-31 10:20:30'
ALTER TABLE t ADD a datetime2 NOT NULL DEFAULT '2020-01-31 10:20:30.1234567'
-- => add to shop.dbo.t: a datetime2 not null default '2020-01-31 10:20:30.1234567'
ALTER TABLE t ADD a date NOT NULL DEFAULT '2020-01-31'
-- => add to shop.dbo.t: a date not null default '2020-01-31'
ALTER TABLE t ADD a uniqueidentifier NOT NULL DEFAULT '6f9619ff-8b86-d011-b42d-00c04fc964ff'
-- => add to shop.dbo.t: a uniqueidentifier not null default '6F9619FF-8B86-D011-B42D-00C04FC964FF'
ALTER TABLE t ADD a char(4) NOT NULL DEFAULT 'x', b binary(2) NOT NULL DEFAULT 0x41
-- => add to shop.dbo.t: a char(4) not null default 'x   ' | add to shop.dbo.t: b binary(2) not null default 'A\x00'
ALTER TABLE t ADD a bit NOT NULL DEFAULT 2
-- => add to shop.dbo.t: a bit not null default '1'
ALTER TABLE t ADD a int NOT NULL DEFAULT 1 + 1
-- => add to shop.dbo.t: a int not null default computed
ALTER TABLE t ADD a int NOT NULL DEFAULT 'x'
-- => unsupported for shop.dbo.t: the value of column 'a' in old rows is not known: Retable cannot convert its DEFAULT to int as the source does; write another default with `retable hold release --as`
ALTER TABLE t ADD a time NOT NULL DEFAULT '10:00'
-- => unsupported for shop.dbo.t: the value of column 'a' in old rows is not known: Retable cannot convert its DEFAULT to time as the source does; write another default with `retable hold release --as`
ALTER TABLE t ADD CONSTRAINT PK_t PRIMARY KEY CLUSTERED (id)
-- => key of shop.dbo.t: id
ALTER TABLE t ADD a int PRIMARY KEY
-- => add to shop.dbo.t: a int | key of shop.dbo.t: a
ALTER TABLE t ADD id int IDENTITY(1,1)
-- => unsupported for shop.dbo.t: the source fills column 'id' of old rows with numbers, and the log has no event with these numbers; `retable hold release --as` can add a column without numbering, which is null in old rows
ALTER TABLE t ADD a AS (b + 1)
-- => unsupported for shop.dbo.t: the source computes column 'a' in old rows, and the log has no event with the values; `retable hold release --as` can declare a plain column, which does not get these values
ALTER TABLE t WITH NOCHECK ADD CONSTRAINT c CHECK (a > 0), CONSTRAINT f FOREIGN KEY (a) REFERENCES u (id)
-- => nothing: ALTER TABLE: check, foreign key
ALTER TABLE t ADD CONSTRAINT d DEFAULT getdate() FOR a WITH VALUES
-- => nothing: ALTER TABLE: default
ALTER TABLE t ADD UNIQUE (a), a2 int
-- => add to shop.dbo.t: a2 int
ALTER TABLE t ADD INDEX ix (a)
-- => nothing: ALTER TABLE: index
ALTER TABLE t ADD COLUMN a int
-- => unsupported for shop.dbo.t: Retable does not understand 'COLUMN a int' in the statement: the problem begins at 'int'
ALTER TABLE t ADD a
-- => unsupported for shop.dbo.t: Retable does not understand 'a' in the statement: the text ends too early
ALTER TABLE t ADD a int b int
-- => unsupported for shop.dbo.t: Retable does not understand 'a int b int' in the statement: the problem begins at 'b int'

--- ALTER TABLE: ALTER COLUMN, DROP
ALTER TABLE t ALTER COLUMN a bigint
-- => change in shop.dbo.t: a to a bigint
ALTER TABLE [dbo].[t] ALTER COLUMN [a b] nvarchar(100) COLLATE Latin1_General_BIN NOT NULL
-- => change in shop.dbo.t: `a b` to `a b` nvarchar(100) not null
ALTER TABLE t ALTER COLUMN a decimal(12, 2) NULL WITH (ONLINE = ON)
-- => change in shop.dbo.t: a to a decimal(12,2)
ALTER TABLE t ALTER COLUMN a ADD ROWGUIDCOL
-- => nothing: ALTER TABLE: column
ALTER TABLE t ALTER COLUMN a DROP MASKED
-- => nothing: ALTER TABLE: column
ALTER TABLE t ALTER COLUMN a SET DEFAULT 5
-- => unsupported for shop.dbo.t: Retable does not understand 'ALTER COLUMN a SET DEFAULT 5' in the statement: the problem begins at 'DEFAULT 5'
ALTER TABLE t DROP COLUMN a
-- => drop from shop.dbo.t: a
ALTER TABLE t DROP COLUMN IF EXISTS a, [b c]
-- => drop from shop.dbo.t if exists: a | drop from shop.dbo.t if exists: `b c`
ALTER TABLE t DROP CONSTRAINT DF_a, COLUMN a, b
-- => drop from shop.dbo.t: a | drop from shop.dbo.t: b
ALTER TABLE t DROP COLUMN a, CONSTRAINT FK_b
-- => drop from shop.dbo.t: a
ALTER TABLE t DROP FK_t_u
-- => nothing: ALTER TABLE: constraint
ALTER TABLE t DROP CONSTRAINT PK_t WITH (ONLINE = ON)
-- => unsupported for shop.dbo.t: the dropped constraint 'PK_t' may be the primary key, and the statement shows only its name; if it is another constraint, use `retable hold release --skip`
ALTER TABLE t DROP PERIOD FOR SYSTEM_TIME
-- => nothing: ALTER TABLE: period

--- ALTER TABLE: what gold does not have
ALTER TABLE t NOCHECK CONSTRAINT ALL
-- => nothing: ALTER TABLE: constraint
ALTER TABLE t WITH CHECK CHECK CONSTRAINT FK_a
-- => nothing: ALTER TABLE: constraint
ALTER TABLE t DISABLE TRIGGER ALL
-- => nothing: ALTER TABLE: triggers or tracking
ALTER TABLE t ENABLE CHANGE_TRACKING WITH (TRACK_COLUMNS_UPDATED = ON)
-- => nothing: ALTER TABLE: triggers or tracking
ALTER TABLE t SET (SYSTEM_VERSIONING = OFF)
-- => nothing: ALTER TABLE: set
ALTER TABLE t REBUILD PARTITION = ALL WITH (DATA_COMPRESSION = PAGE)
-- => nothing: ALTER TABLE: rebuild
ALTER TABLE t SWITCH PARTITION 1 TO dbo.u
-- => partitions of shop.dbo.t: SWITCH removes or adds rows, and the log has no event for each of them | partitions of shop.dbo.u: SWITCH removes or adds rows, and the log has no event for each of them
ALTER TABLE t SWITCH TO crm.archive.u
-- => partitions of shop.dbo.t: SWITCH removes or adds rows, and the log has no event for each of them | partitions of crm.archive.u: SWITCH removes or adds rows, and the log has no event for each of them
ALTER TABLE #t ADD a int
-- => nothing: temporary table
ALTER TABLE t FROB
-- => unsupported for shop.dbo.t: Retable does not understand 'FROB' in the statement
ALTER TABLE srv.shop.dbo.t ADD a int
-- => unsupported for shop.dbo.t: the name 'srv.shop.dbo.t' has too many parts: expected `database.schema.table`

--- sp_rename, ALTER SCHEMA
EXEC sp_rename 'dbo.t', 'u'
-- => rename shop.dbo.t to shop.dbo.u
EXEC sp_rename 't', 'u v'
-- => rename shop.dbo.t to shop.dbo.`u v`
EXECUTE sys.sp_rename N'[dbo].[t]', N'u', N'OBJECT'
-- => rename shop.dbo.t to shop.dbo.u
EXEC sp_rename @objname = N'dbo.t.a', @newname = N'b', @objtype = N'COLUMN'
-- => change in shop.dbo.t: a to b as it is
sp_rename 't.[a b]', 'c d', 'COLUMN';
-- => change in shop.dbo.t: `a b` to `c d` as it is
EXEC sp_rename 'dbo.t.ix', 'iy', 'INDEX'
-- => nothing: sp_rename INDEX
EXEC sp_rename 'a', 'b', 'COLUMN'
-- => unsupported for shop.dbo.t: sp_rename does not name the table of column 'a': expected 'table.column'
EXEC sp_rename 't.a', 'b'
-- => change in shop.dbo.t: a to b as it is
EXEC sp_rename 'dbo.t.a', 'b'
-- => change in shop.dbo.t: a to b as it is
EXEC sp_rename 'sales.t', 'b'
-- => unsupported for shop.dbo.t: it is not known whether sp_rename renames the table shop.sales.t or a column of shop.dbo.sales; add 'OBJECT' or 'COLUMN' with `retable hold release --as`
EXEC sp_rename 'sales.u', 't', 'OBJECT'
-- => rename shop.sales.u to shop.sales.t
EXEC sp_rename 'shop.dbo.u', 't'
-- => rename shop.dbo.u to shop.dbo.t
EXEC sp_rename @newname = 'b'
-- => unsupported for shop.dbo.t: Retable does not understand "EXEC sp_rename @newname = 'b'" in the statement: the text ends too early
EXEC sp_addextendedproperty 'MS_Description', 'x'
-- => unsupported for shop.dbo.t: EXEC calls a procedure other than sp_rename, and it is not known what this procedure changes; write its effect on this table with `retable hold release --as`, or use `--skip` if there is no effect
EXEC dbo.change_tables
-- => unsupported for shop.dbo.t: EXEC calls a procedure other than sp_rename, and it is not known what this procedure changes; write its effect on this table with `retable hold release --as`, or use `--skip` if there is no effect
ALTER SCHEMA sales TRANSFER dbo.t
-- => rename shop.dbo.t to shop.sales.t
ALTER SCHEMA sales TRANSFER OBJECT::dbo.t
-- => rename shop.dbo.t to shop.sales.t
ALTER SCHEMA sales TRANSFER TYPE::dbo.x
-- => nothing: ALTER SCHEMA

--- TRUNCATE, DROP
TRUNCATE TABLE t
-- => truncate shop.dbo.t
TRUNCATE TABLE [crm].[dbo].[u]
-- => truncate crm.dbo.u
TRUNCATE TABLE t WITH (PARTITIONS (1, 3 TO 5))
-- => partitions of shop.dbo.t: TRUNCATE TABLE … WITH (PARTITIONS …) removes rows, and the log has no event for each of them
TRUNCATE TABLE #t
-- => nothing: temporary table
DROP TABLE t
-- => drop shop.dbo.t
DROP TABLE IF EXISTS dbo.t, crm.sales.u
-- => drop shop.dbo.t if exists | drop crm.sales.u if exists
DROP TABLE #t
-- => nothing: temporary table
DROP DATABASE IF EXISTS crm, tmp
-- => drop database crm | drop database tmp
DROP SCHEMA sales
-- => nothing: DROP SCHEMA

--- What is no table
CREATE UNIQUE NONCLUSTERED INDEX ix ON dbo.t (a) INCLUDE (b) WHERE a IS NOT NULL
-- => nothing: CREATE INDEX
CREATE CLUSTERED COLUMNSTORE INDEX ix ON dbo.t
-- => nothing: CREATE COLUMNSTORE
CREATE OR ALTER VIEW v AS SELECT 1 AS a; 
-- => nothing: CREATE VIEW
CREATE TRIGGER tr ON dbo.t AFTER INSERT AS BEGIN DELETE FROM u; DROP TABLE x; END
-- => nothing: CREATE TRIGGER
CREATE PROCEDURE p AS DROP TABLE t
-- => nothing: CREATE PROCEDURE
CREATE SCHEMA sales AUTHORIZATION dbo
-- => nothing: CREATE SCHEMA
CREATE SEQUENCE s AS bigint
-- => nothing: CREATE SEQUENCE
CREATE PARTITION FUNCTION pf (int) AS RANGE LEFT FOR VALUES (1, 2)
-- => nothing: CREATE PARTITION
ALTER INDEX ALL ON t REBUILD
-- => nothing: ALTER INDEX
ALTER DATABASE shop SET RECOVERY SIMPLE
-- => nothing: ALTER DATABASE
DROP INDEX ix ON dbo.t
-- => nothing: DROP INDEX
GRANT SELECT ON dbo.t TO u
-- => nothing: GRANT
SET QUOTED_IDENTIFIER ON
-- => nothing: SET
USE crm
-- => nothing: USE
DISABLE TRIGGER tr ON t
-- => nothing: triggers or statistics
UPDATE STATISTICS t
-- => nothing: triggers or statistics
UPDATE t SET a = 1
-- => unsupported for shop.dbo.t: Retable does not understand 'UPDATE t SET a = 1' in the statement
IF OBJECT_ID('dbo.t') IS NOT NULL DROP TABLE dbo.t
-- => unsupported for shop.dbo.t: Retable does not understand "IF OBJECT_ID('dbo.t') IS NOT NULL DROP TABLE dbo.t" in the statement
BEGIN TRANSACTION
-- => unsupported for shop.dbo.t: Retable does not understand 'BEGIN TRANSACTION' in the statement
GO
-- => unsupported for shop.dbo.t: Retable does not understand 'GO' in the statement

--- Comments, quotes, several statements
/* a /* nested */ ALTER TABLE x */ ALTER TABLE t -- b⏎ ADD a int -- ; c
-- => add to shop.dbo.t: a int
ALTER TABLE t ADD a nvarchar(20) NOT NULL DEFAULT N'-- no /* comment */ ; here'
-- => add to shop.dbo.t: a nvarchar(20) not null default '-- no /* comment */ ; here'
ALTER TABLE t ADD [a -- b] int, [c /* d] int
-- => add to shop.dbo.t: `a -- b` int | add to shop.dbo.t: `c /* d` int
ALTER TABLE t ADD a int /* open
-- => unsupported for shop.dbo.t: a comment in the statement has no end: `*/` is missing
ALTER TABLE t ADD [a int
-- => unsupported for shop.dbo.t: a quoted name or a string in the statement has no end
ALTER TABLE t ADD a int; ALTER TABLE u DROP COLUMN b
-- => unsupported for shop.dbo.t: the text contains several statements, and Retable reads only one statement per message | unsupported for shop.dbo.u: the text contains several statements, and Retable reads only one statement per message
ALTER TABLE t ADD a int ALTER TABLE u DROP COLUMN b
-- => unsupported for shop.dbo.t: the text contains several statements, and Retable reads only one statement per message | unsupported for shop.dbo.u: the text contains several statements, and Retable reads only one statement per message
ALTER TABLE t ADD a int NOT NULL DEFAULT 5 FROB
-- => unsupported for shop.dbo.t: Retable does not understand 'a int NOT NULL DEFAULT 5 FROB' in the statement: the problem begins at 'FROB'
CREATE TABLE t (id int) DROP TABLE u
-- => unsupported for shop.dbo.t: the text contains several statements, and Retable reads only one statement per message | unsupported for shop.dbo.u: the text contains several statements, and Retable reads only one statement per message
CREATE INDEX i ON t (a) TRUNCATE TABLE t
-- => unsupported for shop.dbo.t: the text contains several statements, and Retable reads only one statement per message
GRANT CREATE TABLE, ALTER TO u
-- => nothing: GRANT
ALTER TABLE T ADD A int
-- => add to shop.dbo.t: A int
ALTER TABLE DBO.T ADD A int
-- => add to shop.dbo.t: A int
;
-- => unsupported for shop.dbo.t: the text of the statement is empty

--- Whose schema is a bare name's
--- in shop.sales.u
DROP TABLE sales.u, t
-- => unsupported for shop.sales.u: the schema of table 't' is not known: the statement does not name it, and the schema 'sales' of the message may belong to another table in the statement
ALTER TABLE t SWITCH TO sales.u
-- => partitions of shop.sales.t: SWITCH removes or adds rows, and the log has no event for each of them | partitions of shop.sales.u: SWITCH removes or adds rows, and the log has no event for each of them
ALTER TABLE dbo.t ADD a int
-- => add to shop.dbo.t: a int
GIBBERISH
-- => unsupported for shop.sales.u: Retable does not understand 'GIBBERISH' in the statement
--- in shop.t
ALTER TABLE dbo.t ADD a int
-- => add to shop.t: a int
ALTER TABLE t ADD a int
-- => add to shop.t: a int
--- in .
DROP TABLE t
-- => unsupported for no table: neither the statement nor the message names the database of table 't'
DROP TABLE shop.dbo.t
-- => drop shop.dbo.t
