--- in shop.t

--- CREATE TABLE: names
CREATE TABLE t (id INT PRIMARY KEY)
-- => create shop.t (id INT not null; key id)
CREATE TABLE `t` (`id` int NOT NULL, PRIMARY KEY (`id`))
-- => create shop.t (id int not null; key id)
CREATE TABLE IF NOT EXISTS crm.t (id INT KEY);
-- => create crm.t if not exists (id INT not null; key id)
create table `my shop`.`a``b` (`select` int, `c``d` int, `x.y` int, `列` int, `🙂` int, primary key (`c``d`, `列`))
-- => create `my shop`.`a``b` (select int, `c``d` int not null, `x.y` int, `列` int not null, `🙂` int; key `c``d`, `列`)
CREATE TABLE "t" ("a" INT PRIMARY KEY, "say ""hi""" INT)
-- => create shop.t (a INT not null, `say "hi"` INT; key a)
CREATE TABLE 2024_orders (1st INT, $x INT, key_ INT)
-- => create shop.`2024_orders` (`1st` INT, `$x` INT, key_ INT; no key)
CREATE TABLE shop . 2024_orders (id INT)
-- => create shop.`2024_orders` (id INT; no key)
CREATE TABLE `shop.t` (id INT)
-- => create shop.`shop.t` (id INT; no key)
CREATE TABLE t (ID INT, Name INT, PRIMARY KEY (id, NAME))
-- => create shop.t (ID INT not null, Name INT not null; key ID, Name)

--- CREATE TABLE: types
CREATE TABLE t (a TINYINT(1), b BOOL, c BOOLEAN, d INTEGER(11) UNSIGNED ZEROFILL, e BIGINT SIGNED, f INT1, g INT8 unsigned)
-- => create shop.t (a TINYINT(1), b tinyint(1), c tinyint(1), d int(11) UNSIGNED ZEROFILL, e BIGINT, f tinyint, g bigint unsigned; no key)
CREATE TABLE t (a DEC, b NUMERIC(10), c FIXED(10,2), d DECIMAL( 12 , 3 ) unsigned, e FLOAT(7,4), f FLOAT(53), g DOUBLE PRECISION, h REAL, i DOUBLE(10,2))
-- => create shop.t (a decimal, b decimal(10), c decimal(10,2), d DECIMAL(12,3) unsigned, e FLOAT(7,4), f FLOAT(53), g double, h double, i DOUBLE(10,2); no key)
CREATE TABLE t (a CHARACTER VARYING(10), b NATIONAL VARCHAR(5), c NCHAR(3), d LONG, e LONG VARCHAR, f LONG VARBINARY, g NVARCHAR(7), h CHAR CHARACTER SET utf8, i CHAR VARYING (4))
-- => create shop.t (a varchar(10), b varchar(5), c char(3), d mediumtext, e mediumtext, f mediumblob, g varchar(7), h CHAR, i varchar(4); no key)
CREATE TABLE t (e ENUM('a','it''s','x,y',')','\'q\'') CHARACTER SET latin1 NOT NULL, s SET("r","w""x",'it is'))
-- => create shop.t (e ENUM('a','it''s','x,y',')','\'q\'') not null, s SET('r','w"x','it is'); no key)
CREATE TABLE t (a BIT, b BIT(8), c DATETIME(3), d TIMESTAMP(6) NULL, e TIME, f YEAR(4), g JSON, h INET6, i UUID, j POINT SRID 4326 NOT NULL, k VECTOR(3), l GEOMCOLLECTION)
-- => create shop.t (a BIT, b BIT(8), c DATETIME(3), d TIMESTAMP(6), e TIME, f YEAR(4), g JSON, h INET6, i UUID, j POINT not null, k VECTOR(3), l geometrycollection; no key)
CREATE TABLE t (id SERIAL, n INT)
-- => create shop.t (id bigint unsigned not null, n INT; no key)
CREATE TABLE t (id BIGINT UNSIGNED SERIAL DEFAULT VALUE)
-- => create shop.t (id BIGINT UNSIGNED not null; no key)
CREATE TABLE t (a VARCHAR(20) CHARACTER SET binary, b CHAR(4) BYTE, c TEXT CHARSET binary, d ENUM('x') CHARACTER SET binary, e VARCHAR(9) BINARY)
-- => create shop.t (a varbinary(20), b binary(4), c blob, d ENUM('x'), e VARCHAR(9); no key)
CREATE TABLE t (a VARCHAR(20), b INT) DEFAULT CHARSET=binary
-- => unsupported for shop.t: the character set of the table is `binary`, so its text columns contain bytes; declare these columns as BINARY, VARBINARY or BLOB with `retable hold release --as`
CREATE TABLE t (a VARBINARY(20), b INT, c VARCHAR(5) CHARACTER SET utf8mb4) DEFAULT CHARSET=binary
-- => create shop.t (a VARBINARY(20), b INT, c VARCHAR(5); no key)

--- CREATE TABLE: options of columns
CREATE TABLE t (id INT NOT NULL AUTO_INCREMENT PRIMARY KEY COMMENT 'it''s; -- "the" id', v INT NULL DEFAULT NULL)
-- => create shop.t (id INT not null comment 'it\'s; -- "the" id', v INT default null; key id)
CREATE TABLE t (a INT DEFAULT 5, b INT DEFAULT -1, c INT DEFAULT +2, d DECIMAL(5,2) NOT NULL DEFAULT 1.50, e FLOAT DEFAULT .5, f DOUBLE DEFAULT -1.5e-3)
-- => create shop.t (a INT default '5', b INT default '-1', c INT default '2', d DECIMAL(5,2) not null default '1.50', e FLOAT default '0.5', f DOUBLE default '-1.5e-3'; no key)
CREATE TABLE t (a VARCHAR(9) DEFAULT '', b VARCHAR(9) DEFAULT "it's", c VARCHAR(9) DEFAULT 'a\tb\\', d VARCHAR(9) DEFAULT 'a' 'b', e VARCHAR(9) DEFAULT _utf8mb4'é' COLLATE utf8mb4_bin, f NCHAR(2) DEFAULT N'é')
-- => create shop.t (a VARCHAR(9) default '', b VARCHAR(9) default "it's", c VARCHAR(9) default 'a\tb\\', d VARCHAR(9) default 'ab', e VARCHAR(9) default 'é', f char(2) default 'é'; no key)
CREATE TABLE t (a BIT(8) DEFAULT b'101', b INT DEFAULT 0xFF, c VARCHAR(9) DEFAULT x'414243', d BIT DEFAULT 0b1, e BINARY(2) DEFAULT 0x4142, f BIGINT DEFAULT 0xABC)
-- => create shop.t (a BIT(8) default '5', b INT default '255', c VARCHAR(9) default 'ABC', d BIT default '1', e BINARY(2) default 'AB', f BIGINT default '2748'; no key)
CREATE TABLE t (a VARBINARY(9) DEFAULT 0xFFFE)
-- => create shop.t (a VARBINARY(9); no key)
CREATE TABLE t (a BOOL DEFAULT TRUE, b TINYINT(1) DEFAULT false, c TEXT DEFAULT ('x'), d JSON DEFAULT (('{}')), e INT DEFAULT (7), f DATE DEFAULT DATE '2020-01-01')
-- => create shop.t (a tinyint(1) default '1', b TINYINT(1) default '0', c TEXT default 'x', d JSON default '{}', e INT default '7', f DATE default '2020-01-01'; no key)
CREATE TABLE t (a DATETIME DEFAULT CURRENT_TIMESTAMP, b DATETIME(3) DEFAULT NOW(3) ON UPDATE CURRENT_TIMESTAMP(3), c CHAR(36) DEFAULT (uuid()), d INT DEFAULT (1 + 1), e CHAR(36) DEFAULT uuid(), f INT DEFAULT NEXT VALUE FOR shop.s, g TIMESTAMP NOT NULL DEFAULT current_timestamp() ON UPDATE current_timestamp(), h JSON DEFAULT (json_array(1, (2))))
-- => create shop.t (a DATETIME default computed, b DATETIME(3) default computed, c CHAR(36) default computed, d INT default computed, e CHAR(36) default computed, f INT default computed, g TIMESTAMP not null default computed, h JSON default computed; no key)
CREATE TABLE t (id INT, a INT INVISIBLE, b VARCHAR(5) COLLATE utf8mb4_bin UNIQUE, c INT CHECK (c > 0) NOT ENFORCED, d INT CONSTRAINT positive CHECK (d > 0), e INT REFERENCES u (id) ON DELETE SET NULL ON UPDATE NO ACTION, f INT COLUMN_FORMAT FIXED STORAGE DISK, g BLOB COMPRESSED)
-- => create shop.t (id INT, a INT, b VARCHAR(5), c INT, d INT, e INT, f INT, g BLOB; no key; foreign key (e) to shop.u (id), on delete set_null, on update refuse)
CREATE TABLE t (a INT, b INT AS (a * 2) STORED, c INT GENERATED ALWAYS AS (concat(a, ')')) VIRTUAL NOT NULL COMMENT 'c', d JSON, e INT AS (d->>'$.x') PERSISTENT)
-- => create shop.t (a INT, b INT, c INT not null comment 'c', d JSON, e INT; no key)
CREATE TABLE t (a INT FOO)
-- => unsupported for shop.t: Retable does not understand 'a INT FOO)' in the statement: the problem begins at 'FOO)'
CREATE TABLE t (a INT DEFAULT 1 + 1)
-- => unsupported for shop.t: Retable does not understand 'a INT DEFAULT 1 + 1)' in the statement: the problem begins at '+ 1)'
CREATE TABLE t (a INT DEFAULT _gbk'é')
-- => unsupported for shop.t: Retable does not understand "a INT DEFAULT _gbk'é')" in the statement: the problem begins at "'é')"

--- CREATE TABLE: keys
CREATE TABLE t (a INT, b VARCHAR(300), c INT, CONSTRAINT pk PRIMARY KEY USING BTREE (a DESC, b(20)) COMMENT 'x')
-- => create shop.t (a INT not null, b VARCHAR(300) not null, c INT; key a, b)
CREATE TABLE t (a INT, b INT, UNIQUE KEY u (a), KEY k (b, a) USING BTREE, INDEX (b) COMMENT 'i, j', FULLTEXT KEY f (b) WITH PARSER ngram, SPATIAL INDEX s (b), CONSTRAINT f FOREIGN KEY (b) REFERENCES shop.u (id) ON DELETE CASCADE, CHECK (a > (b)), CONSTRAINT CHECK (a <> 0), VECTOR INDEX v (b), KEY e ((a + b)))
-- => create shop.t (a INT, b INT; no key; foreign key f (b) to shop.u (id), on delete cascade, on update refuse)
CREATE TABLE t (a INT UNIQUE, b INT)
-- => create shop.t (a INT, b INT; no key)
CREATE TABLE t (vector INT, period INT, `primary` INT, PRIMARY KEY (`primary`))
-- => create shop.t (vector INT, period INT, primary INT not null; key primary)

--- CREATE TABLE: options of the table
CREATE TABLE t (id INT) ENGINE=InnoDB AUTO_INCREMENT=5 DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin ROW_FORMAT=DYNAMIC COMMENT='AS SELECT; (' STATS_PERSISTENT=0 START TRANSACTION
-- => create shop.t (id INT; no key)
CREATE TABLE t (id INT, yr INT) PARTITION BY RANGE (yr) (PARTITION p0 VALUES LESS THAN (2020) ENGINE = InnoDB, PARTITION pm VALUES LESS THAN MAXVALUE)
-- => create shop.t (id INT, yr INT; no key)
CREATE TABLE t (id INT) /*!50100 PARTITION BY HASH (id) PARTITIONS 4 */;
-- => create shop.t (id INT; no key)
CREATE TABLE t (id INT) /*!50500 PARTITION BY LIST  COLUMNS(id)⏎(PARTITION p VALUES IN (1,2) ENGINE = InnoDB) */
-- => create shop.t (id INT; no key)
CREATE TABLE t (id INT) WITH SYSTEM VERSIONING
-- => unsupported for shop.t: WITH SYSTEM VERSIONING: the table keeps rows that the log shows as deleted
ALTER TABLE t ADD (a INT, b INT), ADD COLUMN IF NOT EXISTS A BIGINT
-- => unsupported for shop.t: column 'a' is added twice; write only the ADD that took effect with `--as`
ALTER TABLE t DROP COLUMN id, ADD COLUMN IF NOT EXISTS n INT PRIMARY KEY
-- => unsupported for shop.t: the new key is not known: DROP may remove the old key, and ADD has IF NOT EXISTS
CREATE TABLE t (id INT, s DATE, e DATE, PERIOD FOR p (s, e))
-- => unsupported for shop.t: PERIOD FOR: in such a table a delete may leave rows with another period, and the log does not show them
CREATE TABLE t (id INT) ENGINE=InnoDB `PAGE_COMPRESSED`='ON'
-- => create shop.t (id INT; no key)

--- CREATE TABLE: like another, or from a query
CREATE TABLE t LIKE u
-- => create shop.t like shop.u
CREATE TABLE IF NOT EXISTS t LIKE crm.u;
-- => create shop.t if not exists like crm.u
CREATE TABLE t (LIKE `u`)
-- => create shop.t like shop.u
CREATE TABLE t AS SELECT * FROM u
-- => create shop.t (…; no key)
CREATE TABLE t SELECT a, b FROM u WHERE c = ';'
-- => create shop.t (…; no key)
CREATE TABLE t (id INT PRIMARY KEY, v INT DEFAULT 3) ENGINE=InnoDB AS SELECT 1 AS id, 2 AS w
-- => create shop.t (id INT not null, v INT default '3', …; key id)
CREATE TABLE t (PRIMARY KEY (id)) IGNORE SELECT id, v FROM u
-- => create shop.t (…; key id)
CREATE TABLE t (SELECT 1 AS x)
-- => create shop.t (…; no key)
CREATE TABLE t (KEY (x)) REPLACE (SELECT 1 AS x)
-- => create shop.t (…; no key)
CREATE TABLE t ENGINE=InnoDB WITH c AS (SELECT 1) SELECT * FROM c
-- => create shop.t (…; no key)
CREATE TABLE t TABLE u
-- => create shop.t (…; no key)
CREATE TABLE t
-- => unsupported for shop.t: CREATE TABLE declares no columns, so the columns of the table are not known

--- CREATE TABLE: replaced, temporary
CREATE OR REPLACE TABLE t (id INT PRIMARY KEY)
-- => drop shop.t if exists | create shop.t (id INT not null; key id)
CREATE OR REPLACE TABLE t LIKE u
-- => drop shop.t if exists | create shop.t like shop.u
CREATE TEMPORARY TABLE t (id INT)
-- => nothing: CREATE TEMPORARY
CREATE OR REPLACE TEMPORARY TABLE t (id INT)
-- => nothing: CREATE TEMPORARY
CREATE /*!40000 TEMPORARY */ TABLE t (id INT)
-- => nothing: CREATE TEMPORARY

--- ALTER TABLE: ADD
ALTER TABLE t ADD COLUMN a INT
-- => add to shop.t: a INT
ALTER TABLE t ADD a INT NOT NULL DEFAULT 7 FIRST
-- => add to shop.t: a INT not null default '7' first
alter table crm.`u` add column `b c` varchar(20) comment 'x' after `a``b`;
-- => add to crm.u: `b c` varchar(20) comment 'x' after `a``b`
ALTER TABLE t ADD COLUMN IF NOT EXISTS a INT AFTER b
-- => add to shop.t if not exists: a INT after b
ALTER TABLE t ADD COLUMN (a INT NOT NULL, b VARCHAR(5) DEFAULT 'x')
-- => add to shop.t: a INT not null | add to shop.t: b VARCHAR(5) default 'x'
ALTER TABLE t ADD (a INT, KEY k (a), UNIQUE (a))
-- => add to shop.t: a INT
ALTER TABLE t ADD comment VARCHAR(20), ADD COLUMN `key` INT, ADD first INT FIRST, ADD after INT AFTER after_
-- => add to shop.t: comment VARCHAR(20) | add to shop.t: key INT | add to shop.t: first INT first | add to shop.t: after INT after after_
ALTER TABLE t ADD a TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP, ALGORITHM=INPLACE, LOCK=NONE
-- => add to shop.t: a TIMESTAMP not null default computed
ALTER TABLE t ADD a INT UNIQUE, ADD b INT REFERENCES u (id)
-- => add to shop.t: a INT | add to shop.t: b INT | foreign key of shop.t: (b) to shop.u (id), on delete refuse, on update refuse
ALTER TABLE t ADD COLUMN a INT AUTO_INCREMENT UNIQUE
-- => unsupported for shop.t: the source fills column 'a' of old rows with numbers, and the log has no event with these numbers; `retable hold release --as` can add a column without numbering, which is null in old rows
ALTER TABLE t ADD COLUMN id BIGINT AUTO_INCREMENT PRIMARY KEY FIRST
-- => unsupported for shop.t: the source fills column 'id' of old rows with numbers, and the log has no event with these numbers; `retable hold release --as` can add a column without numbering, which is null in old rows
ALTER TABLE t ADD COLUMN id SERIAL
-- => unsupported for shop.t: the source fills column 'id' of old rows with numbers, and the log has no event with these numbers; `retable hold release --as` can add a column without numbering, which is null in old rows
ALTER TABLE t ADD COLUMN a VARBINARY(9) DEFAULT 0xFFFE
-- => unsupported for shop.t: the default of column 'a' is bytes that Retable cannot write as text
ALTER TABLE t ADD COLUMN a BINARY(2) DEFAULT 'é'
-- => unsupported for shop.t: the default of column 'a' is bytes that Retable cannot write as text
ALTER TABLE t ADD COLUMN a BINARY(2) NOT NULL DEFAULT 0x0001, ADD COLUMN b BIT(3) NOT NULL DEFAULT b'110'
-- => add to shop.t: a BINARY(2) not null default '\x00\x01' | add to shop.t: b BIT(3) not null default '6'
ALTER TABLE t ADD COLUMN a CHAR(36) NOT NULL DEFAULT (uuid())
-- => add to shop.t: a CHAR(36) not null default computed
ALTER TABLE t ADD COLUMN a INT GENERATED ALWAYS AS (b + 1) VIRTUAL
-- => unsupported for shop.t: the source computes column 'a' in old rows, and the log has no event with the values; `retable hold release --as` can declare a plain column, which does not get these values
ALTER TABLE t ADD COLUMN a VARCHAR(10) NOT NULL, ADD COLUMN b DATE NOT NULL DEFAULT '0000-00-00'
-- => add to shop.t: a VARCHAR(10) not null | add to shop.t: b DATE not null default '0000-00-00'

--- ALTER TABLE: DROP, RENAME COLUMN, CHANGE, MODIFY
ALTER TABLE t DROP COLUMN a
-- => drop from shop.t: a
ALTER TABLE t DROP a, DROP COLUMN IF EXISTS `b` RESTRICT
-- => drop from shop.t: a | drop from shop.t if exists: b
ALTER TABLE t RENAME COLUMN a TO b
-- => change in shop.t: a to b as it is
ALTER TABLE t RENAME COLUMN a TO b, RENAME COLUMN c TO `d e`
-- => change in shop.t: a to b as it is | change in shop.t: c to `d e` as it is
ALTER TABLE t CHANGE a b INT
-- => change in shop.t: a to b INT
ALTER TABLE t CHANGE COLUMN `a` `b` BIGINT UNSIGNED NOT NULL DEFAULT 0 COMMENT 'n' AFTER c
-- => change in shop.t: a to b BIGINT UNSIGNED not null default '0' comment 'n' after c
ALTER TABLE t CHANGE COLUMN IF EXISTS a b INT FIRST
-- => change in shop.t if exists: a to b INT first
ALTER TABLE t MODIFY a BIGINT
-- => change in shop.t: a to a BIGINT
ALTER TABLE t MODIFY COLUMN a VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL
-- => change in shop.t: a to a VARCHAR(64) not null
ALTER TABLE t MODIFY id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT
-- => change in shop.t: id to id BIGINT UNSIGNED not null
ALTER TABLE t MODIFY COLUMN IF EXISTS a INT AFTER b
-- => change in shop.t if exists: a to a INT after b
ALTER TABLE t MODIFY a INT AS (b + 1) STORED
-- => unsupported for shop.t: the source computes column 'a' in old rows, and the log has no event with the values; `retable hold release --as` can declare a plain column, which does not get these values
ALTER TABLE t MODIFY id BIGINT PRIMARY KEY
-- => change in shop.t: id to id BIGINT | key of shop.t: id
ALTER TABLE t CHANGE id uid BIGINT KEY
-- => change in shop.t: id to uid BIGINT | key of shop.t: uid

--- ALTER TABLE: several actions, which MySQL takes all at once
ALTER TABLE t⏎  DROP COLUMN phone,⏎  ADD COLUMN phone BIGINT NULL AFTER tenant,⏎  MODIFY credit DECIMAL(20,6) NULL
-- => drop from shop.t: phone | change in shop.t: credit to credit DECIMAL(20,6) | add to shop.t: phone BIGINT after tenant
ALTER TABLE t ADD COLUMN a INT, DROP COLUMN a
-- => drop from shop.t: a | add to shop.t: a INT
ALTER TABLE t CHANGE a b INT, CHANGE b a BIGINT
-- => change in shop.t: b to `b ` as it is | change in shop.t: a to b INT | change in shop.t: `b ` to a BIGINT
ALTER TABLE t RENAME COLUMN a TO b, RENAME COLUMN b TO c, RENAME COLUMN c TO a
-- => change in shop.t: b to `b ` as it is | change in shop.t: c to `c ` as it is | change in shop.t: a to b as it is | change in shop.t: `b ` to c as it is | change in shop.t: `c ` to a as it is
ALTER TABLE t ADD COLUMN a INT FIRST, CHANGE A old_a INT
-- => change in shop.t: A to old_a INT | add to shop.t: a INT first
ALTER TABLE t ADD COLUMN a INT FIRST, CHANGE a old_a INT AFTER b
-- => change in shop.t: a to `a ` as it is | add to shop.t: a INT first | change in shop.t: `a ` to old_a INT after b
ALTER TABLE t ADD COLUMN c INT AFTER b, CHANGE a b INT
-- => change in shop.t: a to b INT | add to shop.t: c INT after b
ALTER TABLE t ADD COLUMN a INT AFTER z, ADD COLUMN b INT AFTER a, MODIFY x INT AFTER b
-- => add to shop.t: a INT after z | add to shop.t: b INT after a | change in shop.t: x to x INT after b
ALTER TABLE t ADD COLUMN a INT, ADD INDEX i (a), ENGINE=InnoDB, COMMENT 'x'
-- => add to shop.t: a INT
ALTER TABLE t ADD a INT, RENAME TO crm.u, DROP b
-- => drop from shop.t: b | add to shop.t: a INT | rename shop.t to crm.u

--- ALTER TABLE: a new name
ALTER TABLE t RENAME TO u
-- => rename shop.t to shop.u
ALTER TABLE t RENAME u
-- => rename shop.t to shop.u
ALTER TABLE t RENAME AS `crm`.`u v`
-- => rename shop.t to crm.`u v`
ALTER TABLE crm.t RENAME = crm.u
-- => rename crm.t to crm.u

--- ALTER TABLE: what gold does not have
ALTER TABLE t
-- => nothing: ALTER TABLE: no action
ALTER TABLE t ALTER COLUMN a SET DEFAULT 1
-- => nothing: ALTER TABLE: default
ALTER TABLE t ALTER a SET DEFAULT (now()), ALTER b DROP DEFAULT, ALTER COLUMN c SET INVISIBLE
-- => nothing: ALTER TABLE: default
ALTER TABLE t ALTER INDEX i INVISIBLE, ALTER CHECK c NOT ENFORCED
-- => nothing: ALTER TABLE: index, check
ALTER TABLE t ADD INDEX i (a, b(10)) USING BTREE COMMENT 'x, y', ADD KEY (c)
-- => nothing: ALTER TABLE: index
ALTER TABLE t ADD UNIQUE u (a), ADD UNIQUE INDEX (b), ADD CONSTRAINT c UNIQUE KEY (c)
-- => nothing: ALTER TABLE: unique index
ALTER TABLE t ADD FULLTEXT INDEX f (a) WITH PARSER ngram, ADD SPATIAL KEY s (g), ADD VECTOR INDEX v (h)
-- => nothing: ALTER TABLE: index
ALTER TABLE t ADD CONSTRAINT `c` FOREIGN KEY IF NOT EXISTS (a, b) REFERENCES u (x, y) ON DELETE SET NULL, ADD FOREIGN KEY (z) REFERENCES u (z)
-- => nothing: ALTER TABLE: foreign key | foreign key of shop.t: c (a, b) to shop.u (x, y), on delete set_null, on update refuse | foreign key of shop.t: (z) to shop.u (z), on delete refuse, on update refuse
ALTER TABLE t DROP FOREIGN KEY t.f, DROP CONSTRAINT `a b`
-- => nothing: ALTER TABLE: foreign key, constraint | drop foreign key from shop.t: f | drop foreign key from shop.t: `a b`
ALTER TABLE t ADD COLUMN IF NOT EXISTS a INT, CHANGE a b INT
-- => change in shop.t: a to b INT
ALTER TABLE t ADD COLUMN IF NOT EXISTS a INT PRIMARY KEY, DROP PRIMARY KEY
-- => add to shop.t if not exists: a INT not null | key of shop.t: none
ALTER TABLE t ADD a INT, ALTER a SET DEFAULT 1
-- => unsupported for shop.t: the default of an added column is in another clause; write it in ADD with `--as`
CREATE TABLE t (a INT, b INT, PRIMARY KEY USING BTREE (a), UNIQUE KEY (b) USING HASH COMMENT 'x, y', KEY k (b) KEY_BLOCK_SIZE=8 INVISIBLE, FULLTEXT KEY (b) WITH PARSER ngram, VECTOR INDEX v (b) M=8 DISTANCE=euclidean, CHECK (a > 0) NOT ENFORCED, KEY c (b) CLUSTERING=YES NOT IGNORED ENGINE_ATTRIBUTE '{}')
-- => create shop.t (a INT not null, b INT; key a)
CREATE TABLE t (a INT, KEY k (a) FROB, b INT)
-- => unsupported for shop.t: Retable does not understand 'KEY k (a) FROB, b INT)' in the statement: the problem begins at 'FROB, b INT)'
CREATE TABLE t (a INT, PRIMARY KEY (a) b INT)
-- => unsupported for shop.t: Retable does not understand 'PRIMARY KEY (a) b INT)' in the statement: the problem begins at 'b INT)'
CREATE TABLE t (a INT, CHECK (a > 0) b INT)
-- => unsupported for shop.t: Retable does not understand 'CHECK (a > 0) b INT)' in the statement: the problem begins at 'b INT)'
ALTER TABLE t ADD INDEX i (a) FROB, DROP COLUMN b
-- => unsupported for shop.t: Retable does not understand 'ADD INDEX i (a) FROB, DROP COLUMN b' in the statement: the problem begins at 'FROB, DROP COLUMN b'
ALTER TABLE t ALTER INDEX i FROB, DROP COLUMN b
-- => unsupported for shop.t: Retable does not understand 'ALTER INDEX i FROB, DROP COLUMN b' in the statement: the problem begins at 'FROB, DROP COLUMN b'
ALTER TABLE t ALTER CHECK c NOT ENFORCED, ALTER INDEX i NOT IGNORED, DROP COLUMN b
-- => drop from shop.t: b
CREATE TABLE t (a INT NOT SECONDARY, id BIGINT NOT NULL AUTO_INCREMENT BY GROUP UNIT COUNT 1 INDEX 0, PRIMARY KEY (id)) SECONDARY_ENGINE=RAPID
-- => create shop.t (a INT, id BIGINT not null; key id)
CREATE TABLE t (a INT, FOREIGN KEY k (a) REFERENCES `o``x`.`u v` (b, c) MATCH SIMPLE ON UPDATE CASCADE ON DELETE SET DEFAULT)
-- => create shop.t (a INT; no key; foreign key k (a) to `o``x`.`u v` (b, c), on delete refuse, on update cascade)
CREATE TABLE t (a INT, CONSTRAINT FOREIGN KEY (a) REFERENCES u ON DELETE CASCADE)
-- => create shop.t (a INT; no key; foreign key (a) to shop.u, on delete cascade, on update refuse)
ALTER TABLE t ADD COLUMN (a INT, FOREIGN KEY (a) REFERENCES u (id)), RENAME TO w
-- => add to shop.t: a INT | foreign key of shop.t: (a) to shop.u (id), on delete refuse, on update refuse | rename shop.t to shop.w
CREATE TABLE t (a INT, FOREIGN KEY (a) REFERENCES u (id) ON DELETE NOTHING)
-- => unsupported for shop.t: Retable does not understand 'FOREIGN KEY (a) REFERENCES u (id) ON DELETE NOTHING)' in the statement: the problem begins at 'NOTHING)'
ALTER TABLE t ADD FOREIGN KEY (a) REFERENCES u (id) DEFERRABLE
-- => unsupported for shop.t: Retable does not understand 'ADD FOREIGN KEY (a) REFERENCES u (id) DEFERRABLE' in the statement: the problem begins at 'DEFERRABLE'
ALTER TABLE t ADD FOREIGN KEY (a) REFERENCES x.y.u (id)
-- => unsupported for shop.t: Retable does not understand 'ADD FOREIGN KEY (a) REFERENCES x.y.u (id)' in the statement: the problem begins at '(id)'
ALTER TABLE t ADD CONSTRAINT CHECK (a > 0), ADD CHECK (b IN (1, 2)) NOT ENFORCED
-- => nothing: ALTER TABLE: check
ALTER TABLE t DROP INDEX i, DROP KEY `k`, DROP FOREIGN KEY f, DROP CONSTRAINT IF EXISTS c, DROP CHECK d
-- => nothing: ALTER TABLE: index, foreign key, constraint, check | drop foreign key from shop.t: f | drop foreign key from shop.t: c
ALTER TABLE t RENAME INDEX a TO b, RENAME KEY c TO d
-- => nothing: ALTER TABLE: index
ALTER TABLE t DISABLE KEYS
-- => nothing: ALTER TABLE: keys
ALTER TABLE t ENABLE KEYS
-- => nothing: ALTER TABLE: keys
ALTER TABLE t COMMENT='a, b; DROP TABLE x'
-- => nothing: ALTER TABLE: comment
ALTER TABLE t ENGINE InnoDB ROW_FORMAT=COMPRESSED KEY_BLOCK_SIZE=8, AUTO_INCREMENT = 100
-- => nothing: ALTER TABLE: engine, row_format, key_block_size, auto_increment
ALTER TABLE t DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_ai_ci
-- => nothing: ALTER TABLE: character set, collate
ALTER TABLE t CHARSET=gbk, DEFAULT COLLATE = gbk_bin
-- => nothing: ALTER TABLE: character set, collate
ALTER TABLE t CONVERT TO CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
-- => nothing: ALTER TABLE: character set
ALTER TABLE t CONVERT TO CHARSET DEFAULT
-- => nothing: ALTER TABLE: character set
ALTER TABLE t CONVERT TO CHARACTER SET binary
-- => unsupported for shop.t: CONVERT TO CHARACTER SET binary makes all text columns bytes and names none of them
ALTER TABLE t ALGORITHM=INPLACE, LOCK=NONE, FORCE
-- => nothing: ALTER TABLE: algorithm, lock, force
ALTER TABLE t ORDER BY a, t.b DESC, COMMENT 'x'
-- => nothing: ALTER TABLE: order, comment
ALTER TABLE t ORDER BY a DESC, b
-- => nothing: ALTER TABLE: order
ALTER TABLE t DATA DIRECTORY '/x' INDEX DIRECTORY='/y' UNION=(a, b) TABLESPACE s
-- => nothing: ALTER TABLE: directory, union, tablespace
ALTER TABLE t PAGE_COMPRESSED=1, WITH VALIDATION
-- => nothing: ALTER TABLE: page_compressed, validation

--- ALTER TABLE: keys and rows
ALTER TABLE t ADD PRIMARY KEY (id)
-- => key of shop.t: id
ALTER TABLE t DROP PRIMARY KEY
-- => key of shop.t: none
ALTER TABLE t ADD COLUMN a INT, DROP PRIMARY KEY, ADD CONSTRAINT PRIMARY KEY USING BTREE (a)
-- => add to shop.t: a INT not null | key of shop.t: a
ALTER TABLE t DROP INDEX `PRIMARY`
-- => key of shop.t: none
ALTER TABLE t DROP CONSTRAINT `primary`
-- => key of shop.t: none
ALTER TABLE t ADD (a INT, PRIMARY KEY (a))
-- => add to shop.t: a INT not null | key of shop.t: a
ALTER IGNORE TABLE t ADD UNIQUE (a)
-- => unsupported for shop.t: ALTER IGNORE with a unique index removes rows, and the log has no event for them
ALTER IGNORE TABLE t ADD COLUMN a INT
-- => add to shop.t: a INT
ALTER TABLE t DISCARD TABLESPACE
-- => unsupported for shop.t: DISCARD TABLESPACE removes or adds rows, and the log has no event for each of them
ALTER TABLE t IMPORT TABLESPACE
-- => unsupported for shop.t: IMPORT TABLESPACE removes or adds rows, and the log has no event for each of them
ALTER TABLE t ADD SYSTEM VERSIONING
-- => unsupported for shop.t: ADD SYSTEM VERSIONING: the table keeps rows that the log shows as deleted
ALTER TABLE t DROP SYSTEM VERSIONING
-- => unsupported for shop.t: Retable does not understand 'DROP SYSTEM VERSIONING' in the statement: the problem begins at 'SYSTEM VERSIONING'

--- ALTER TABLE: partitions
ALTER TABLE t ADD PARTITION (PARTITION p3 VALUES LESS THAN (2030))
-- => nothing: ALTER TABLE: partitions
ALTER TABLE t REORGANIZE PARTITION p0, p1 INTO (PARTITION p VALUES LESS THAN (5))
-- => nothing: ALTER TABLE: partitions
ALTER TABLE t COALESCE PARTITION 2
-- => nothing: ALTER TABLE: partitions
ALTER TABLE t ANALYZE PARTITION p0, p1
-- => nothing: ALTER TABLE: partitions
ALTER TABLE t CHECK PARTITION ALL
-- => nothing: ALTER TABLE: partitions
ALTER TABLE t OPTIMIZE PARTITION p0
-- => nothing: ALTER TABLE: partitions
ALTER TABLE t REBUILD PARTITION p0
-- => nothing: ALTER TABLE: partitions
ALTER TABLE t PARTITION BY HASH(id) PARTITIONS 8
-- => nothing: ALTER TABLE: partitions
ALTER TABLE t ADD COLUMN a INT PARTITION BY KEY(id)
-- => add to shop.t: a INT
ALTER TABLE t ENGINE=InnoDB REMOVE PARTITIONING
-- => nothing: ALTER TABLE: engine, partitions
ALTER TABLE t DROP PARTITION IF EXISTS p0, p1
-- => partitions of shop.t: DROP PARTITION removes or adds rows, and the log has no event for each of them
ALTER TABLE t TRUNCATE PARTITION p0
-- => partitions of shop.t: TRUNCATE PARTITION removes or adds rows, and the log has no event for each of them
ALTER TABLE t EXCHANGE PARTITION p0 WITH TABLE u
-- => partitions of shop.t: EXCHANGE PARTITION removes or adds rows, and the log has no event for each of them | partitions of shop.u: EXCHANGE PARTITION removes or adds rows, and the log has no event for each of them
ALTER TABLE t DISCARD PARTITION p0 TABLESPACE
-- => unsupported for shop.t: DISCARD PARTITION removes or adds rows, and the log has no event for each of them
ALTER TABLE t CONVERT PARTITION p0 TO TABLE u
-- => unsupported for shop.t: CONVERT PARTITION removes or adds rows, and the log has no event for each of them | unsupported for shop.u: CONVERT PARTITION removes or adds rows, and the log has no event for each of them

--- ALTER TABLE: never half of it
ALTER TABLE t ADD a INT, FROB b
-- => unsupported for shop.t: Retable does not understand 'FROB b' in the statement
ALTER TABLE t ADD a INT b INT
-- => unsupported for shop.t: Retable does not understand 'ADD a INT b INT' in the statement: the problem begins at 'b INT'
ALTER TABLE t ADD a INT SOMEHOW, DROP b
-- => unsupported for shop.t: Retable does not understand 'ADD a INT SOMEHOW, DROP b' in the statement: the problem begins at 'SOMEHOW, DROP b'
ALTER TABLE t ADD COLUMN
-- => unsupported for shop.t: Retable does not understand 'ADD COLUMN' in the statement: the text ends too early
ALTER TABLE t ADD COLUMN 'a' INT
-- => unsupported for shop.t: Retable does not understand "ADD COLUMN 'a' INT" in the statement: the problem begins at "'a' INT"
ALTER TABLE t RENAME COLUMN a b
-- => unsupported for shop.t: Retable does not understand 'RENAME COLUMN a b' in the statement: the problem begins at 'b'
ALTER TABLE t MODIFY a INT AFTER
-- => unsupported for shop.t: Retable does not understand 'MODIFY a INT AFTER' in the statement: the text ends too early
ALTER TABLE crm.u FROB
-- => unsupported for crm.u: Retable does not understand 'FROB' in the statement
ALTER TABLE t ADD COLUMN (a INT, b INT
-- => unsupported for shop.t: Retable does not understand 'b INT' in the statement: the text ends too early
ALTER TABLE t ALTER COLUMN a TYPE BIGINT
-- => unsupported for shop.t: Retable does not understand 'ALTER COLUMN a TYPE BIGINT' in the statement: the problem begins at 'TYPE BIGINT'
ALTER TABLE t ADD COLUMN a INT)
-- => unsupported for shop.t: Retable does not understand 'ADD COLUMN a INT)' in the statement: the problem begins at ')'
ALTER TABLE t ADD COLUMN a INT; GARBAGE
-- => unsupported for shop.t: Retable does not understand 'GARBAGE' in the statement
ALTER TABLE t ADD a INT,
-- => unsupported for shop.t: Retable does not understand 'ADD a INT,' in the statement: the text ends too early
ALTER TABLE t DROP COLUMN a b
-- => unsupported for shop.t: Retable does not understand 'DROP COLUMN a b' in the statement: the problem begins at 'b'
ALTER TABLE t ADD a INT(5) CHAR
-- => unsupported for shop.t: Retable does not understand 'ADD a INT(5) CHAR' in the statement: the problem begins at 'CHAR'
ALTER TABLE t ADD INDEX i (a) FROB (b
-- => unsupported for shop.t: Retable does not understand 'ADD INDEX i (a) FROB (b' in the statement: the problem begins at 'FROB (b'
ALTER TABLE t COMMENT 'a' 'b'
-- => unsupported for shop.t: Retable does not understand "COMMENT 'a' 'b'" in the statement: the problem begins at "'b'"
ALTER TABLE t ADD CONSTRAINT c FROB (a)
-- => unsupported for shop.t: Retable does not understand 'ADD CONSTRAINT c FROB (a)' in the statement: the problem begins at 'FROB (a)'

--- ALTER TABLE: MariaDB
ALTER ONLINE TABLE t ADD a INT
-- => add to shop.t: a INT
ALTER TABLE IF EXISTS t WAIT 10 ADD COLUMN IF NOT EXISTS a INT
-- => add to shop.t if not exists: a INT
ALTER TABLE t NOWAIT DROP COLUMN a
-- => drop from shop.t: a
SET STATEMENT max_statement_time=60, lock_wait_timeout=5 FOR ALTER TABLE t ADD a INT
-- => add to shop.t: a INT

--- DROP, TRUNCATE, RENAME TABLE
DROP TABLE t
-- => drop shop.t
DROP TABLE IF EXISTS `t`,`crm`.`u`, v /* generated by server */
-- => drop shop.t if exists | drop crm.u if exists | drop shop.v if exists
DROP TABLES a, b CASCADE;
-- => drop shop.a | drop shop.b
DROP TABLE IF EXISTS t WAIT 5 RESTRICT
-- => drop shop.t if exists
DROP TEMPORARY TABLE t
-- => nothing: DROP TEMPORARY
DROP /*!40005 TEMPORARY */ TABLE IF EXISTS `t`
-- => nothing: DROP TEMPORARY
TRUNCATE TABLE t
-- => truncate shop.t
truncate `crm`.`u`;
-- => truncate crm.u
TRUNCATE t NOWAIT
-- => truncate shop.t
TRUNCATE TABLE t PARTITION p0
-- => unsupported for shop.t: Retable does not understand 'TRUNCATE TABLE t PARTITION p0' in the statement: the problem begins at 'PARTITION p0'
RENAME TABLE t TO u
-- => rename shop.t to shop.u
RENAME TABLE `shop`.`t` TO `shop`.`_t_old`, `shop`.`_t_new` TO `shop`.`t`
-- => rename shop.t to shop._t_old | rename shop._t_new to shop.t
RENAME TABLES a WAIT 3 TO b, crm.c TO crm.d
-- => rename shop.a to shop.b | rename crm.c to crm.d
RENAME TABLE IF EXISTS a TO b
-- => unsupported for shop.a: RENAME TABLE IF EXISTS does not show which tables existed; if this table existed, write RENAME TABLE without IF EXISTS with `retable hold release --as`, else use `--skip` | unsupported for shop.b: RENAME TABLE IF EXISTS does not show which tables existed; if this table existed, write RENAME TABLE without IF EXISTS with `retable hold release --as`, else use `--skip`
RENAME TABLE a b
-- => unsupported for shop.a: Retable does not understand 'RENAME TABLE a b' in the statement: the problem begins at 'b'
DROP DATABASE crm
-- => drop database crm
DROP SCHEMA IF EXISTS `my shop`
-- => drop database `my shop`

--- What changes no table
CREATE DATABASE IF NOT EXISTS crm DEFAULT CHARACTER SET utf8mb4
-- => nothing: CREATE DATABASE
ALTER DATABASE crm COLLATE utf8mb4_bin
-- => nothing: ALTER DATABASE
CREATE SCHEMA crm
-- => nothing: CREATE SCHEMA
CREATE VIEW t AS SELECT 1
-- => nothing: CREATE VIEW
CREATE OR REPLACE ALGORITHM=UNDEFINED DEFINER=`root`@`%` SQL SECURITY DEFINER VIEW `t` AS SELECT ';' AS x
-- => nothing: CREATE VIEW
ALTER VIEW t AS SELECT 2
-- => nothing: ALTER VIEW
DROP VIEW IF EXISTS t, u
-- => nothing: DROP VIEW
CREATE INDEX i ON t (a)
-- => nothing: CREATE INDEX
CREATE UNIQUE INDEX i USING BTREE ON t (a, b DESC) ALGORITHM=INPLACE
-- => nothing: CREATE INDEX
CREATE FULLTEXT INDEX i ON t (a)
-- => nothing: CREATE INDEX
DROP INDEX i ON t
-- => nothing: DROP INDEX
DROP INDEX `PRIMARY` ON t
-- => key of shop.t: none
CREATE DEFINER=`root`@`localhost` TRIGGER x BEFORE INSERT ON t FOR EACH ROW BEGIN SET NEW.a = 1; SET NEW.b = 2; END
-- => nothing: CREATE TRIGGER
DROP TRIGGER x
-- => nothing: DROP TRIGGER
CREATE PROCEDURE p (IN a INT) BEGIN DROP TABLE t; TRUNCATE u; END
-- => nothing: CREATE PROCEDURE
CREATE FUNCTION f (a INT) RETURNS INT DETERMINISTIC RETURN a + 1
-- => nothing: CREATE FUNCTION
CREATE AGGREGATE FUNCTION f RETURNS STRING SONAME 'x.so'
-- => nothing: CREATE FUNCTION
DROP FUNCTION IF EXISTS f
-- => nothing: DROP FUNCTION
CREATE EVENT e ON SCHEDULE EVERY 1 HOUR DO BEGIN DELETE FROM t; END
-- => nothing: CREATE EVENT
ALTER DEFINER = root@localhost EVENT e DISABLE
-- => nothing: ALTER EVENT
CREATE USER 'a'@'%' IDENTIFIED BY 'secret'
-- => nothing: CREATE USER
DROP USER a
-- => nothing: DROP USER
RENAME USER a TO b
-- => nothing: RENAME USER
GRANT ALL PRIVILEGES ON shop.* TO 'a'@'%'
-- => nothing: GRANT
REVOKE SELECT ON shop.t FROM a
-- => nothing: REVOKE
FLUSH PRIVILEGES
-- => nothing: FLUSH
ANALYZE NO_WRITE_TO_BINLOG TABLE t, u
-- => nothing: ANALYZE
OPTIMIZE TABLE t
-- => nothing: OPTIMIZE
REPAIR TABLE t
-- => nothing: REPAIR
LOCK TABLES t WRITE
-- => nothing: LOCK
UNLOCK TABLES
-- => nothing: UNLOCK
SET NAMES utf8mb4
-- => nothing: SET
SET @a = 1, sql_mode = ''
-- => nothing: SET
USE shop
-- => nothing: USE
BEGIN
-- => nothing: BEGIN
COMMIT
-- => nothing: COMMIT
CREATE SEQUENCE s START WITH 1
-- => nothing: CREATE SEQUENCE
CREATE SERVER s FOREIGN DATA WRAPPER mysql OPTIONS (HOST 'x')
-- => nothing: CREATE SERVER
DROP ROLE r
-- => nothing: DROP ROLE

--- What is no DDL, or not understood
INSERT INTO t VALUES (1)
-- => unsupported for shop.t: Retable does not understand 'INSERT INTO t VALUES (1)' in the statement
DELETE FROM t
-- => unsupported for shop.t: Retable does not understand 'DELETE FROM t' in the statement
ANALYZE FORMAT=JSON DELETE FROM t
-- => unsupported for shop.t: Retable does not understand 'ANALYZE FORMAT=JSON DELETE FROM t' in the statement: the problem begins at 'FORMAT=JSON DELETE FROM t'
CALL p()
-- => unsupported for shop.t: Retable does not understand 'CALL p()' in the statement
SELECT 1
-- => unsupported for shop.t: Retable does not understand 'SELECT 1' in the statement
FROBNICATE TABLE t
-- => unsupported for shop.t: Retable does not understand 'FROBNICATE TABLE t' in the statement
CREATE TABLE
-- => unsupported for shop.t: Retable does not understand 'CREATE TABLE' in the statement: the text ends too early
CREATE FROB x
-- => unsupported for shop.t: Retable does not understand 'CREATE FROB x' in the statement: the problem begins at 'FROB x'
DROP TABLE
-- => unsupported for shop.t: Retable does not understand 'DROP TABLE' in the statement: the text ends too early
DROP TABLE a, 'b'
-- => unsupported for shop.a: Retable does not understand "DROP TABLE a, 'b'" in the statement: the problem begins at "'b'"
这不是语句
-- => unsupported for shop.t: Retable does not understand '这不是语句' in the statement
ALTER TABLE `t ADD a INT
-- => unsupported for shop.t: a quoted name, a string or a number in the statement is incomplete: a closing quote may be missing
ALTER TABLE t ADD a VARCHAR(5) DEFAULT 'x
-- => unsupported for shop.t: a quoted name, a string or a number in the statement is incomplete: a closing quote may be missing
ALTER TABLE t ADD a INT /* cut o
-- => unsupported for shop.t: a comment in the statement has no end: `*/` is missing

--- Comments and semicolons
/* gh-ost */ ALTER TABLE t ADD a INT -- why
-- => add to shop.t: a INT
-- first⏎# second⏎  ALTER /* a /* b */ TABLE t/**/DROP a;
-- => drop from shop.t: a
ALTER TABLE t ADD `-- a` INT, ADD `/*b*/` INT COMMENT '/* -- #'
-- => add to shop.t: `-- a` INT | add to shop.t: `/*b*/` INT comment '/* -- #'
/*!50003 ALTER TABLE t ADD a INT */
-- => add to shop.t: a INT
/*! ALTER TABLE t */ /*!40101 ADD a INT */
-- => add to shop.t: a INT
ALTER TABLE t ADD a INT /*!80023 INVISIBLE */
-- => add to shop.t: a INT
ALTER TABLE t ADD a INT /*!80023 , ADD b INT */
-- => unsupported for shop.t: the meaning of the statement depends on which of its version comments (`/*!… */`) the server executed; write the statement without such comments with `retable hold release --as`
ALTER TABLE t ADD a INT /*M!100300 , ADD b INT */
-- => unsupported for shop.t: the meaning of the statement depends on which of its version comments (`/*!… */`) the server executed; write the statement without such comments with `retable hold release --as`
ALTER TABLE t ADD a INT DEFAULT 1--1
-- => unsupported for shop.t: Retable does not understand 'ADD a INT DEFAULT 1--1' in the statement: the problem begins at '--1'
/* only a comment */
-- => nothing: only a comment
# only a comment
-- => nothing: only a comment
  ;;
-- => unsupported for shop.t: the text of the statement is empty
DROP TABLE a; DROP TABLE b
-- => unsupported for shop.a: the text contains several statements, and Retable reads only one statement per message | unsupported for shop.b: the text contains several statements, and Retable reads only one statement per message
ALTER TABLE t ADD a INT; ALTER TABLE t ADD b INT;
-- => unsupported for shop.t: the text contains several statements, and Retable reads only one statement per message
BEGIN; DROP TABLE u; COMMIT
-- => unsupported for shop.u: the text contains several statements, and Retable reads only one statement per message
ALTER TABLE t ADD a INT
-- => unsupported for shop.t: the statement has '\xa0' between two words, and MySQL does not read this as a blank
ALTER TABLE t ADD a INT;;
-- => add to shop.t: a INT
ALTER TABLE t ADD a INT ;⏎-- done
-- => add to shop.t: a INT

--- Whose database is a bare name's
--- in crm.b
RENAME TABLE a TO crm.b
-- => unsupported for crm.b: the database of table 'a' is not known: the statement does not name it, and the database 'crm' of the message may belong to another table in the statement
RENAME TABLE shop.a TO b
-- => rename shop.a to crm.b
RENAME TABLE a TO shop.b
-- => rename crm.a to shop.b
RENAME TABLE shop.a TO crm.b
-- => rename shop.a to crm.b
ALTER TABLE a RENAME TO crm.b
-- => unsupported for crm.b: the database of table 'a' is not known: the statement does not name it, and the database 'crm' of the message may belong to another table in the statement
ALTER TABLE shop.a RENAME b
-- => rename shop.a to crm.b
CREATE TABLE crm.b LIKE a
-- => unsupported for crm.b: the database of table 'a' is not known: the statement does not name it, and the database 'crm' of the message may belong to another table in the statement
CREATE TABLE b LIKE shop.a
-- => create crm.b like shop.a
DROP TABLE crm.b, a
-- => unsupported for crm.b: the database of table 'a' is not known: the statement does not name it, and the database 'crm' of the message may belong to another table in the statement
DROP TABLE b, shop.a
-- => drop crm.b | drop shop.a
ALTER TABLE b ADD CONSTRAINT f FOREIGN KEY (x) REFERENCES crm.u (x)
-- => nothing: ALTER TABLE: foreign key | foreign key of crm.b: f (x) to crm.u (x), on delete refuse, on update refuse
--- in crm.
DROP DATABASE crm
-- => drop database crm
TRUNCATE b
-- => truncate crm.b
GIBBERISH
-- => unsupported for no table: Retable does not understand 'GIBBERISH' in the statement
--- in .
DROP TABLE a
-- => unsupported for no table: neither the statement nor the message names the database of table 'a'
DROP TABLE shop.a
-- => drop shop.a

--- Online schema changes: gh-ost and pt-online-schema-change, in the order of their statements
--- in shop.orders
CREATE /* gh-ost */ TABLE `shop`.`_orders_ghc` ( id bigint unsigned auto_increment, last_update timestamp not null DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP, hint varchar(64) charset ascii not null, value varchar(4096) charset ascii not null, primary key(id), unique key hint_uidx(hint) ) auto_increment=256 comment='gh-ost'
-- => create shop._orders_ghc (id bigint unsigned not null, last_update timestamp not null default computed, hint varchar(64) not null, value varchar(4096) not null; key id)
create /* gh-ost */ table `shop`.`_orders_gho` like `shop`.`orders`
-- => create shop._orders_gho like shop.orders
alter /* gh-ost */ table `shop`.`_orders_gho` ADD COLUMN note varchar(20) NOT NULL DEFAULT '' AFTER id, ENGINE=InnoDB
-- => add to shop._orders_gho: note varchar(20) not null default '' after id
create /* gh-ost */ table `shop`.`_orders_del` ( id int auto_increment primary key ) engine=InnoDB comment='ghost-cut-over-sentry'
-- => create shop._orders_del (id int not null; key id)
drop /* gh-ost */ table if exists `shop`.`_orders_del`
-- => drop shop._orders_del if exists
rename /* gh-ost */ table `shop`.`orders` to `shop`.`_orders_del`, `shop`.`_orders_gho` to `shop`.`orders`
-- => rename shop.orders to shop._orders_del | rename shop._orders_gho to shop.orders
drop /* gh-ost */ table if exists `shop`.`_orders_ghc`
-- => drop shop._orders_ghc if exists
CREATE TABLE `shop`.`_orders_new` (⏎  `id` int(11) NOT NULL AUTO_INCREMENT,⏎  PRIMARY KEY (`id`)⏎) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4
-- => create shop._orders_new (id int(11) not null; key id)
ALTER TABLE `shop`.`_orders_new` CHANGE COLUMN a b BIGINT, DROP COLUMN c
-- => drop from shop._orders_new: c | change in shop._orders_new: a to b BIGINT
CREATE TRIGGER `pt_osc_shop_orders_del` AFTER DELETE ON `shop`.`orders` FOR EACH ROW DELETE IGNORE FROM `shop`.`_orders_new` WHERE `shop`.`_orders_new`.`id` <=> OLD.`id`
-- => nothing: CREATE TRIGGER
ANALYZE TABLE `shop`.`_orders_new` /* pt-online-schema-change */
-- => nothing: ANALYZE
RENAME TABLE `shop`.`orders` TO `shop`.`_orders_old`, `shop`.`_orders_new` TO `shop`.`orders`
-- => rename shop.orders to shop._orders_old | rename shop._orders_new to shop.orders
DROP TABLE IF EXISTS `shop`.`_orders_old`
-- => drop shop._orders_old if exists
DROP TRIGGER IF EXISTS `shop`.`pt_osc_shop_orders_del`
-- => nothing: DROP TRIGGER

--- Several actions in one statement, once more
--- in shop.t
ALTER TABLE t DROP a, ADD a BIGINT NOT NULL DEFAULT 3 FIRST, DROP b, ADD b TEXT AFTER a
-- => drop from shop.t: a | drop from shop.t: b | add to shop.t: a BIGINT not null default '3' first | add to shop.t: b TEXT after a
ALTER TABLE t CHANGE a b INT, CHANGE b c INT, CHANGE c a INT, ADD d INT AFTER a
-- => change in shop.t: b to `b ` as it is | change in shop.t: c to `c ` as it is | change in shop.t: a to b INT | change in shop.t: `b ` to c INT | change in shop.t: `c ` to a INT | add to shop.t: d INT after a
ALTER TABLE t RENAME COLUMN a TO b, ADD COLUMN a INT, DROP c
-- => drop from shop.t: c | change in shop.t: a to b as it is | add to shop.t: a INT
ALTER TABLE t RENAME COLUMN a TO A
-- => change in shop.t: a to A as it is
ALTER TABLE t CHANGE a b INT FIRST, CHANGE b a INT AFTER b
-- => change in shop.t: b to `b ` as it is | change in shop.t: a to b INT first | change in shop.t: `b ` to a INT after b
ALTER TABLE t ADD a INT, ADD b INT FIRST, MODIFY c BIGINT FIRST, ALTER d SET DEFAULT 5, DROP INDEX i, ADD UNIQUE (a)
-- => add to shop.t: a INT | add to shop.t: b INT first | change in shop.t: c to c BIGINT first
ALTER TABLE t ALGORITHM=INSTANT, ADD COLUMN a INT NOT NULL, LOCK=DEFAULT
-- => add to shop.t: a INT not null
ALTER TABLE t ADD a INT, ADD PRIMARY KEY (a)
-- => add to shop.t: a INT not null | key of shop.t: a
ALTER TABLE t DROP COLUMN a, TRUNCATE PARTITION p0
-- => partitions of shop.t: TRUNCATE PARTITION removes or adds rows, and the log has no event for each of them
ALTER TABLE t ADD (a INT, b INT), ADD (c INT) , DROP d
-- => drop from shop.t: d | add to shop.t: a INT | add to shop.t: b INT | add to shop.t: c INT
ALTER TABLE t RENAME TO u, RENAME TO v
-- => rename shop.t to shop.v

--- Names and hints
ALTER TABLE `t``1`.`x.y` ADD `a'b` INT, ADD `"` INT
-- => add to `t``1`.`x.y`: `a'b` INT | add to `t``1`.`x.y`: `"` INT
ALTER TABLE shop . t ADD a INT
-- => add to shop.t: a INT
ALTER TABLE 1t ADD 2a INT
-- => add to shop.`1t`: `2a` INT
ALTER TABLE t ADD `` INT
-- => unsupported for shop.t: Retable does not understand 'ADD `` INT' in the statement: the problem begins at '`` INT'
ALTER TABLE `shop.t` ADD a INT
-- => add to shop.`shop.t`: a INT
ALTER /*+ no hint here */ TABLE t ADD a INT
-- => add to shop.t: a INT
/*!40101 SET NAMES utf8 */
-- => nothing: SET
/*!40014 SET @x=1 */;
-- => nothing: SET
CREATE TABLE /*!32312 IF NOT EXISTS*/ `t` (`id` int /*!80023 INVISIBLE */ NOT NULL) /*!50100 TABLESPACE `x` */ ENGINE=InnoDB /*!80016 DEFAULT ENCRYPTION='N' */
-- => create shop.t if not exists (id int not null; no key)
CREATE DATABASE /*!32312 IF NOT EXISTS*/ `crm` /*!40100 DEFAULT CHARACTER SET utf8mb4 */ /*!80016 DEFAULT ENCRYPTION='N' */
-- => nothing: CREATE DATABASE
/*!50001 CREATE ALGORITHM=UNDEFINED */⏎/*!50013 DEFINER=`root`@`%` SQL SECURITY DEFINER */⏎/*!50001 VIEW `v` AS SELECT 1 AS `a` */
-- => nothing: CREATE VIEW
ALTER TABLE t /* a; */ ADD a INT /* b */ , /* c */ DROP b # d
-- => drop from shop.t: b | add to shop.t: a INT

--- Names, indices and options that look like something else
ALTER TABLE t DROP COLUMN c, ROW_FORMAT=DEFAULT
-- => drop from shop.t: c
ALTER TABLE t ADD INDEX i ((CAST(d->>'$.x' AS UNSIGNED))), ADD KEY ((lower(a)))
-- => nothing: ALTER TABLE: index
CREATE INDEX i ON t ((d->>'$.x'))
-- => nothing: CREATE INDEX
ALTER SCHEMA crm COLLATE utf8mb4_bin
-- => nothing: ALTER SCHEMA
ALTER TABLE `t"; DROP TABLE x; --` ADD `{{ a }} %s` INT
-- => add to shop.`t"; DROP TABLE x; --`: `{{ a }} %s` INT

--- Defaults of MySQL 8 and invisible columns
CREATE TABLE t (my_row_id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT INVISIBLE PRIMARY KEY, a INT)
-- => create shop.t (my_row_id BIGINT UNSIGNED not null, a INT; key my_row_id)
ALTER TABLE t ADD a JSON DEFAULT (JSON_OBJECT('k', 1)), ADD b GEOMETRY SRID 4326 NULL, ADD c INT DEFAULT (RAND() * 5)
-- => add to shop.t: a JSON default computed | add to shop.t: b GEOMETRY | add to shop.t: c INT default computed
ALTER TABLE t ADD a VARCHAR(9) DEFAULT 'a' COLLATE utf8mb4_bin NOT NULL, ADD b DECIMAL(5,2) DEFAULT '1.5', ADD c DATE DEFAULT (CURRENT_DATE)
-- => add to shop.t: a VARCHAR(9) not null default 'a' | add to shop.t: b DECIMAL(5,2) default '1.5' | add to shop.t: c DATE default computed
ALTER TABLE t ADD a INT DEFAULT NULL, ADD b INT NULL DEFAULT 0, ADD c ENUM('x','y') NOT NULL, ADD d SET('x') DEFAULT ''
-- => add to shop.t: a INT default null | add to shop.t: b INT default '0' | add to shop.t: c ENUM('x','y') not null | add to shop.t: d SET('x') default ''
ALTER TABLE t ADD a TIMESTAMP NULL DEFAULT '2020-01-01 00:00:00', ADD b TIMESTAMP DEFAULT 0
-- => add to shop.t: a TIMESTAMP default '2020-01-01 00:00:00' | add to shop.t: b TIMESTAMP default '0'

--- CREATE … LIKE, AS, and tables of other databases
--- in shop.t
CREATE TABLE crm.t LIKE shop.t
-- => create crm.t like shop.t
CREATE TABLE IF NOT EXISTS crm.t AS TABLE shop.t
-- => create crm.t if not exists (…; no key)
CREATE TABLE t (id INT) UNION=(a,b) SELECT * FROM u
-- => create shop.t (id INT, …; no key)
CREATE TABLE t (id INT) AS (SELECT 1) UNION (SELECT 2)
-- => create shop.t (id INT, …; no key)
ALTER TABLE crm.orders ADD a INT
-- => add to crm.orders: a INT
DROP TABLE crm.a, tmp.b
-- => drop crm.a | drop tmp.b
TRUNCATE crm.orders
-- => truncate crm.orders
RENAME TABLE crm.a TO tmp.a, tmp.b TO crm.b
-- => rename crm.a to tmp.a | rename tmp.b to crm.b
RENAME TABLE a TO b, b TO c, c TO a
-- => rename shop.a to shop.b | rename shop.b to shop.c | rename shop.c to shop.a

--- MariaDB: conditions, waits, periods, sequences
ALTER TABLE t DROP COLUMN IF EXISTS a, ADD COLUMN IF NOT EXISTS b INT FIRST, MODIFY COLUMN IF EXISTS c INT, RENAME COLUMN IF EXISTS d TO e
-- => drop from shop.t if exists: a | change in shop.t if exists: c to c INT | change in shop.t if exists: d to e as it is | add to shop.t if not exists: b INT first
ALTER TABLE t DROP INDEX IF EXISTS i, DROP FOREIGN KEY IF EXISTS f, DROP CONSTRAINT IF EXISTS c, ADD INDEX IF NOT EXISTS j (a), DROP PRIMARY KEY
-- => key of shop.t: none | drop foreign key from shop.t: f | drop foreign key from shop.t: c
ALTER TABLE IF EXISTS shop.t NOWAIT ADD a INT INVISIBLE DEFAULT 5
-- => add to shop.t: a INT default '5'
CREATE OR REPLACE TABLE t (id INT) WITH SYSTEM VERSIONING
-- => unsupported for shop.t: WITH SYSTEM VERSIONING: the table keeps rows that the log shows as deleted
CREATE TABLE t (id INT, s TIMESTAMP(6) GENERATED ALWAYS AS ROW START, e TIMESTAMP(6) GENERATED ALWAYS AS ROW END, PERIOD FOR SYSTEM_TIME(s, e)) WITH SYSTEM VERSIONING
-- => unsupported for shop.t: Retable does not understand 's TIMESTAMP(6) GENERATED ALWAYS AS ROW START, e TIMESTAMP(6)…' in the statement: the problem begins at 'ROW START, e TIMESTAMP(6) GENERATED ALWAYS AS ROW END, PERIO…'
CREATE TABLE t (id INT, v INT WITHOUT SYSTEM VERSIONING)
-- => unsupported for shop.t: Retable does not understand 'v INT WITHOUT SYSTEM VERSIONING)' in the statement: the problem begins at 'WITHOUT SYSTEM VERSIONING)'
ALTER TABLE t ADD PERIOD FOR p (s, e)
-- => unsupported for shop.t: PERIOD FOR: in such a table a delete may leave rows with another period, and the log does not show them
ALTER TABLE t ADD PERIOD FOR SYSTEM_TIME (s, e), ADD SYSTEM VERSIONING
-- => unsupported for shop.t: PERIOD FOR: in such a table a delete may leave rows with another period, and the log does not show them
ALTER TABLE t PARTITION BY SYSTEM_TIME INTERVAL 1 MONTH
-- => nothing: ALTER TABLE: partitions
DELETE HISTORY FROM t
-- => unsupported for shop.t: Retable does not understand 'DELETE HISTORY FROM t' in the statement
CREATE OR REPLACE SEQUENCE s START WITH 1 INCREMENT BY 2
-- => nothing: CREATE SEQUENCE
ALTER SEQUENCE IF EXISTS s RESTART 5
-- => nothing: ALTER SEQUENCE
DROP SEQUENCE IF EXISTS s, u
-- => nothing: DROP SEQUENCE
CREATE TABLE s SEQUENCE=1
-- => unsupported for shop.s: CREATE TABLE declares no columns, so the columns of the table are not known
RENAME TABLE s WAIT 5 TO s2
-- => rename shop.s to shop.s2
CREATE TABLE t (a UUID, b INET6, c INET4, d VECTOR(3) NOT NULL)
-- => create shop.t (a UUID, b INET6, c INET4, d VECTOR(3) not null; no key)
CREATE TABLE t (a INT) ENGINE=ColumnStore
-- => create shop.t (a INT; no key)
ALTER TABLE t ADD COLUMN a INT AS (b) PERSISTENT INVISIBLE
-- => unsupported for shop.t: the source computes column 'a' in old rows, and the log has no event with the values; `retable hold release --as` can declare a plain column, which does not get these values
SET STATEMENT max_statement_time=5 FOR TRUNCATE TABLE t
-- => truncate shop.t
START TRANSACTION
-- => nothing: START
XA START 'x'
-- => nothing: XA
CREATE OR REPLACE PACKAGE BODY p AS END
-- => nothing: CREATE PACKAGE
ALTER TABLE t FORCE, ALGORITHM=COPY
-- => nothing: ALTER TABLE: force, algorithm

--- Partitions, once more
ALTER TABLE t PARTITION BY RANGE COLUMNS (d) (PARTITION p0 VALUES LESS THAN ('2020-01-01'), PARTITION p1 VALUES LESS THAN (MAXVALUE))
-- => nothing: ALTER TABLE: partitions
ALTER TABLE t ADD PARTITION IF NOT EXISTS (PARTITION p VALUES IN (1, 2))
-- => nothing: ALTER TABLE: partitions
ALTER TABLE t ADD PARTITION PARTITIONS 2
-- => nothing: ALTER TABLE: partitions
ALTER TABLE t DROP PARTITION p0; 
-- => partitions of shop.t: DROP PARTITION removes or adds rows, and the log has no event for each of them
ALTER TABLE t REORGANIZE PARTITION
-- => nothing: ALTER TABLE: partitions
ALTER TABLE t REMOVE PARTITIONING
-- => nothing: ALTER TABLE: partitions
ALTER TABLE t EXCHANGE PARTITION p0 WITH TABLE crm.u WITHOUT VALIDATION
-- => partitions of shop.t: EXCHANGE PARTITION removes or adds rows, and the log has no event for each of them | partitions of crm.u: EXCHANGE PARTITION removes or adds rows, and the log has no event for each of them
ALTER TABLE t CONVERT TABLE u TO PARTITION p VALUES LESS THAN (5)
-- => unsupported for shop.t: CONVERT TABLE removes or adds rows, and the log has no event for each of them | unsupported for shop.u: CONVERT TABLE removes or adds rows, and the log has no event for each of them
ALTER TABLE t IMPORT PARTITION p0 TABLESPACE
-- => unsupported for shop.t: IMPORT PARTITION removes or adds rows, and the log has no event for each of them

--- Canal 1.1.7 on MariaDB 10.11: every DDL message of a genuine stream, in its order
--- in shop.
drop database if exists shop
-- => drop database shop
--- in crm.
drop database if exists crm
-- => drop database crm
--- in tmpdb.
drop database if exists tmpdb
-- => drop database tmpdb
--- in shop.
create database shop default character set utf8mb4
-- => nothing: CREATE DATABASE
--- in crm.
create database crm default character set utf8mb4
-- => nothing: CREATE DATABASE
--- in shop.wl_marker
create table shop.wl_marker(id int primary key, label varchar(64) not null)
-- => create shop.wl_marker (id int not null, label varchar(64) not null; key id)
--- in shop.customers
CREATE TABLE shop.customers (⏎  id BIGINT NOT NULL AUTO_INCREMENT COMMENT 'surrogate; key', name VARCHAR(64) NOT NULL, email VARCHAR(128) NOT NULL, vip TINYINT(1) DEFAULT 0,⏎  credit DECIMAL(12,2) DEFAULT NULL, created DATETIME(3) NULL, note TEXT, PRIMARY KEY(id), UNIQUE KEY uk_email(email)) ENGINE=InnoDB
-- => create shop.customers (id BIGINT not null comment 'surrogate; key', name VARCHAR(64) not null, email VARCHAR(128) not null, vip TINYINT(1) default '0', credit DECIMAL(12,2) default null, created DATETIME(3), note TEXT; key id)
--- in shop.orders
CREATE TABLE shop.orders (region CHAR(2) NOT NULL, order_no INT UNSIGNED NOT NULL, line_no SMALLINT NOT NULL DEFAULT 1, cust_id BIGINT, qty SMALLINT, amount DECIMAL(10,2), comment VARCHAR(20),⏎  PRIMARY KEY(region, order_no)) ENGINE=InnoDB
-- => create shop.orders (region CHAR(2) not null, order_no INT UNSIGNED not null, line_no SMALLINT not null default '1', cust_id BIGINT, qty SMALLINT, amount DECIMAL(10,2), comment VARCHAR(20); key region, order_no)
--- in shop.events_nopk
CREATE TABLE shop.events_nopk (kind VARCHAR(16), n INT, tag VARCHAR(16), v DOUBLE) ENGINE=InnoDB
-- => create shop.events_nopk (kind VARCHAR(16), n INT, tag VARCHAR(16), v DOUBLE; no key)
--- in shop.uk_only
CREATE TABLE shop.uk_only (code VARCHAR(20) NOT NULL, val INT, UNIQUE KEY(code)) ENGINE=InnoDB
-- => create shop.uk_only (code VARCHAR(20) not null, val INT; no key)
--- in shop.inventory
CREATE TABLE shop.inventory (sku VARCHAR(32) PRIMARY KEY, qty INT NOT NULL DEFAULT 0, price FLOAT) ENGINE=InnoDB
-- => create shop.inventory (sku VARCHAR(32) not null, qty INT not null default '0', price FLOAT; key sku)
--- in shop.all_types
CREATE TABLE shop.all_types (id INT PRIMARY KEY, c_bit1 BIT(1), c_bit8 BIT(8), c_bit64 BIT(64), c_bool BOOL, c_tiny TINYINT, c_utiny TINYINT UNSIGNED, c_small SMALLINT, c_usmall SMALLINT UNSIGNED, c_med MEDIUMINT, c_umed MEDIUMINT UNSIGNED, c_int INT, c_uint INT UNSIGNED, c_zint INT(8) UNSIGNED ZEROFILL, c_big BIGINT, c_ubig BIGINT UNSIGNED, c_dec DECIMAL(38,10), c_dec0 DECIMAL(10,0), c_dec65 DECIMAL(65,30), c_udec DECIMAL(9,3) UNSIGNED, c_float FLOAT, c_double DOUBLE, c_date DATE, c_time TIME, c_time6 TIME(6), c_dt DATETIME, c_dt3 DATETIME(3), c_dt6 DATETIME(6), c_ts TIMESTAMP NULL, c_ts6 TIMESTAMP(6) NULL, c_year YEAR, c_char CHAR(10), c_vc VARCHAR(255), c_text TEXT, c_mtext MEDIUMTEXT, c_bin BINARY(16), c_vbin VARBINARY(255), c_blob BLOB, c_enum ENUM('a','b','c d','é','''q''','x,y'), c_set SET('r','w','x y','ü'), c_json JSON) ENGINE=InnoDB
-- => create shop.all_types (id INT not null, c_bit1 BIT(1), c_bit8 BIT(8), c_bit64 BIT(64), c_bool tinyint(1), c_tiny TINYINT, c_utiny TINYINT UNSIGNED, c_small SMALLINT, c_usmall SMALLINT UNSIGNED, c_med MEDIUMINT, c_umed MEDIUMINT UNSIGNED, c_int INT, c_uint INT UNSIGNED, c_zint INT(8) UNSIGNED ZEROFILL, c_big BIGINT, c_ubig BIGINT UNSIGNED, c_dec DECIMAL(38,10), c_dec0 DECIMAL(10,0), c_dec65 DECIMAL(65,30), c_udec DECIMAL(9,3) UNSIGNED, c_float FLOAT, c_double DOUBLE, c_date DATE, c_time TIME, c_time6 TIME(6), c_dt DATETIME, c_dt3 DATETIME(3), c_dt6 DATETIME(6), c_ts TIMESTAMP, c_ts6 TIMESTAMP(6), c_year YEAR, c_char CHAR(10), c_vc VARCHAR(255), c_text TEXT, c_mtext MEDIUMTEXT, c_bin BINARY(16), c_vbin VARBINARY(255), c_blob BLOB, c_enum ENUM('a','b','c d','é','''q''','x,y'), c_set SET('r','w','x y','ü'), c_json JSON; key id)
--- in crm.customers
CREATE TABLE crm.customers (cid INT PRIMARY KEY, cname VARCHAR(50), active BIT(1)) ENGINE=InnoDB
-- => create crm.customers (cid INT not null, cname VARCHAR(50), active BIT(1); key cid)
--- in shop.trunc_me
CREATE TABLE shop.trunc_me (id INT PRIMARY KEY, v VARCHAR(10)) ENGINE=InnoDB
-- => create shop.trunc_me (id INT not null, v VARCHAR(10); key id)
--- in shop.order-items
CREATE TABLE shop.`order-items` (`select` INT PRIMARY KEY, `列名` VARCHAR(20), `a.b` INT, `x y` VARCHAR(10), `quo"te` INT) ENGINE=InnoDB
-- => create shop.`order-items` (select INT not null, `列名` VARCHAR(20), `a.b` INT, `x y` VARCHAR(10), `quo"te` INT; key select)
--- in shop.legacy_gbk
CREATE TABLE shop.legacy_gbk (id INT PRIMARY KEY, memo VARCHAR(50), lat VARCHAR(50) CHARACTER SET latin1) ENGINE=InnoDB DEFAULT CHARACTER SET gbk
-- => create shop.legacy_gbk (id INT not null, memo VARCHAR(50), lat VARCHAR(50); key id)
--- in shop.zero_dates
CREATE TABLE shop.zero_dates (id INT PRIMARY KEY, d DATE, dtm DATETIME, ts TIMESTAMP NULL, dn DATE NOT NULL DEFAULT '0000-00-00') ENGINE=InnoDB
-- => create shop.zero_dates (id INT not null, d DATE, dtm DATETIME, ts TIMESTAMP, dn DATE not null default '0000-00-00'; key id)
--- in shop.swapcols
CREATE TABLE shop.swapcols (id INT PRIMARY KEY, a INT, b INT) ENGINE=InnoDB
-- => create shop.swapcols (id INT not null, a INT, b INT; key id)
--- in shop.geo
CREATE TABLE shop.geo (id INT PRIMARY KEY, p POINT, g GEOMETRY) ENGINE=InnoDB
-- => create shop.geo (id INT not null, p POINT, g GEOMETRY; key id)
--- in shop.gen_cols
CREATE TABLE shop.gen_cols (id INT PRIMARY KEY, a INT, b INT, s INT AS (a+b) STORED, v INT AS (a*b) VIRTUAL, z VARCHAR(10)) ENGINE=InnoDB
-- => create shop.gen_cols (id INT not null, a INT, b INT, s INT, v INT, z VARCHAR(10); key id)
--- in shop.customers
ALTER TABLE customers ADD COLUMN phone VARCHAR(32) NOT NULL DEFAULT 'n/a' AFTER email
-- => add to shop.customers: phone VARCHAR(32) not null default 'n/a' after email
alter table `shop`.`customers` add column tenant INT NOT NULL DEFAULT 7 first
-- => add to shop.customers: tenant INT not null default '7' first
ALTER TABLE shop.customers ADD COLUMN (loyalty DECIMAL(8,2) NULL, `last seen` DATETIME(6) NULL)
-- => add to shop.customers: loyalty DECIMAL(8,2) | add to shop.customers: `last seen` DATETIME(6)
ALTER TABLE shop.customers CHANGE COLUMN name full_name VARCHAR(128) NOT NULL
-- => change in shop.customers: name to full_name VARCHAR(128) not null
/* widen */ ALTER TABLE shop.customers MODIFY vip INT NULL -- bool to int
-- => change in shop.customers: vip to vip INT
ALTER TABLE shop.customers DROP COLUMN note
-- => drop from shop.customers: note
ALTER TABLE shop.customers ADD COLUMN note JSON NULL COMMENT 're-added; other type'
-- => add to shop.customers: note JSON comment 're-added; other type'
ALTER TABLE shop.customers⏎   DROP COLUMN phone,⏎   ADD COLUMN phone BIGINT NULL AFTER tenant,⏎   MODIFY credit DECIMAL(20,6) NULL,⏎   CHANGE loyalty points INT NULL
-- => drop from shop.customers: phone | change in shop.customers: credit to credit DECIMAL(20,6) | change in shop.customers: loyalty to points INT | add to shop.customers: phone BIGINT after tenant
ALTER TABLE shop.customers RENAME COLUMN points TO loyalty_points
-- => change in shop.customers: points to loyalty_points as it is
ALTER TABLE shop.customers MODIFY credit DECIMAL(20,6) NULL AFTER id
-- => change in shop.customers: credit to credit DECIMAL(20,6) after id
--- in shop.swapcols
ALTER TABLE shop.swapcols CHANGE a tmp_a INT
-- => change in shop.swapcols: a to tmp_a INT
ALTER TABLE shop.swapcols CHANGE b a INT
-- => change in shop.swapcols: b to a INT
ALTER TABLE shop.swapcols CHANGE tmp_a b INT
-- => change in shop.swapcols: tmp_a to b INT
--- in shop.orders
ALTER TABLE shop.orders MODIFY qty INT
-- => change in shop.orders: qty to qty INT
ALTER TABLE shop.orders MODIFY qty BIGINT, MODIFY order_no BIGINT UNSIGNED NOT NULL
-- => change in shop.orders: qty to qty BIGINT | change in shop.orders: order_no to order_no BIGINT UNSIGNED not null
ALTER TABLE shop.orders MODIFY amount DECIMAL(18,4), MODIFY comment VARCHAR(500)
-- => change in shop.orders: amount to amount DECIMAL(18,4) | change in shop.orders: comment to comment VARCHAR(500)
ALTER TABLE shop.orders DROP PRIMARY KEY, ADD PRIMARY KEY (region, order_no, line_no)
-- => key of shop.orders: region, order_no, line_no
--- in shop.legacy_gbk
ALTER TABLE shop.legacy_gbk DROP COLUMN memo
-- => drop from shop.legacy_gbk: memo
ALTER TABLE shop.legacy_gbk ADD COLUMN memo VARCHAR(50) AFTER id
-- => add to shop.legacy_gbk: memo VARCHAR(50) after id
ALTER TABLE shop.legacy_gbk CONVERT TO CHARACTER SET utf8mb4
-- => nothing: ALTER TABLE: character set
--- in shop.all_types
ALTER TABLE shop.all_types ADD COLUMN extra_def VARCHAR(20) DEFAULT 'dflt', ADD COLUMN extra_ts TIMESTAMP NULL DEFAULT '2020-01-01 00:00:00', ADD COLUMN extra_num DECIMAL(5,2) NOT NULL DEFAULT 1.50
-- => add to shop.all_types: extra_def VARCHAR(20) default 'dflt' | add to shop.all_types: extra_ts TIMESTAMP default '2020-01-01 00:00:00' | add to shop.all_types: extra_num DECIMAL(5,2) not null default '1.50'
--- in shop.trunc_me
CREATE INDEX ix_v ON shop.trunc_me (v)
-- => nothing: CREATE INDEX
DROP INDEX ix_v ON shop.trunc_me
-- => nothing: DROP INDEX
ALTER TABLE shop.trunc_me COMMENT='no change; really'
-- => nothing: ALTER TABLE: comment
--- in shop.stock
RENAME TABLE shop.inventory TO shop.stock
-- => rename shop.inventory to shop.stock
--- in shop.inventory
CREATE TABLE shop.inventory LIKE shop.stock
-- => create shop.inventory like shop.stock
--- in shop.sw_a
CREATE TABLE shop.sw_a (id INT PRIMARY KEY, who VARCHAR(5))
-- => create shop.sw_a (id INT not null, who VARCHAR(5); key id)
--- in shop.sw_b
CREATE TABLE shop.sw_b (id INT PRIMARY KEY, who VARCHAR(5), extra INT)
-- => create shop.sw_b (id INT not null, who VARCHAR(5), extra INT; key id)
--- in shop.sw_t
RENAME TABLE shop.sw_a TO shop.sw_t, shop.sw_b TO shop.sw_a, shop.sw_t TO shop.sw_b
-- => rename shop.sw_a to shop.sw_t | rename shop.sw_b to shop.sw_a | rename shop.sw_t to shop.sw_b
--- in crm.stock_archive
ALTER TABLE shop.stock RENAME TO crm.stock_archive
-- => rename shop.stock to crm.stock_archive
--- in shop.inventory
DROP TABLE `inventory` /* generated by server */
-- => drop shop.inventory
--- in shop.tmp_drop
CREATE TABLE shop.tmp_drop (id INT PRIMARY KEY, v INT)
-- => create shop.tmp_drop (id INT not null, v INT; key id)
DROP TABLE IF EXISTS `tmp_drop`,`not_there` /* generated by server */
-- => drop shop.tmp_drop if exists | drop shop.not_there if exists
CREATE TABLE IF NOT EXISTS shop.tmp_drop (id VARCHAR(10) PRIMARY KEY, v TEXT, w DATE)
-- => create shop.tmp_drop if not exists (id VARCHAR(10) not null, v TEXT, w DATE; key id)
--- in shop.trunc_me
TRUNCATE TABLE shop.trunc_me
-- => truncate shop.trunc_me
--- in shop.events_nopk
truncate shop.events_nopk
-- => truncate shop.events_nopk
--- in shop.ctas
CREATE TABLE `ctas` (⏎  `code` varchar(20) NOT NULL,⏎  `val` int(11) DEFAULT NULL,⏎  PRIMARY KEY (`code`)⏎)
-- => create shop.ctas (code varchar(20) not null, val int(11) default null; key code)
--- in shop.part_t
CREATE TABLE shop.part_t (id INT, yr INT, v VARCHAR(5), PRIMARY KEY(id,yr)) PARTITION BY RANGE(yr) (PARTITION p0 VALUES LESS THAN (2020), PARTITION p1 VALUES LESS THAN (2030), PARTITION pm VALUES LESS THAN MAXVALUE)
-- => create shop.part_t (id INT not null, yr INT not null, v VARCHAR(5); key id, yr)
ALTER TABLE shop.part_t DROP PARTITION p0
-- => partitions of shop.part_t: DROP PARTITION removes or adds rows, and the log has no event for each of them
ALTER TABLE shop.part_t TRUNCATE PARTITION pm
-- => partitions of shop.part_t: TRUNCATE PARTITION removes or adds rows, and the log has no event for each of them
--- in tmpdb.
CREATE DATABASE tmpdb
-- => nothing: CREATE DATABASE
--- in tmpdb.x
CREATE TABLE tmpdb.x (id INT PRIMARY KEY)
-- => create tmpdb.x (id INT not null; key id)
--- in tmpdb.
DROP DATABASE tmpdb
-- => drop database tmpdb
