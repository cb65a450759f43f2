"""Statements of MySQL's dialect, drawn at random: what people and tools write, in any spelling."""

from dataclasses import dataclass, field
from random import Random

INTEGERS = ("TINYINT", "SMALLINT", "MEDIUMINT", "INT", "INTEGER", "BIGINT", "INT(5)", "TINYINT(1)", "INT1", "INT2")
INTEGERS += ("INT3", "INT4", "INT8", "MIDDLEINT", "BIGINT(20)", "BOOL", "BOOLEAN")
DECIMALS = ("DECIMAL", "DECIMAL(5)", "DECIMAL(10,2)", "DEC(8,3)", "NUMERIC(12,0)", "FIXED(6,1)", "DECIMAL(38,10)")
REALS = ("FLOAT", "FLOAT(7,4)", "FLOAT(53)", "FLOAT(10)", "DOUBLE", "DOUBLE PRECISION", "REAL", "DOUBLE(10,2)")
REALS += ("FLOAT4", "FLOAT8")
BITS = ("BIT", "BIT(1)", "BIT(8)", "BIT(63)", "BIT(64)")
SHORT_TEXTS = ("CHAR", "CHAR(5)", "VARCHAR(20)", "CHARACTER VARYING(10)", "NCHAR(3)", "NATIONAL VARCHAR(7)")
SHORT_TEXTS += ("NVARCHAR(9)", "VARCHARACTER(8)", "CHAR BYTE(4)", "CHARACTER(6)", "NATIONAL CHARACTER(2)")
LONG_TEXTS = ("TEXT", "TINYTEXT", "MEDIUMTEXT", "LONGTEXT", "LONG", "LONG VARCHAR", "TEXT(100)", "JSON")
BYTES = ("BINARY", "BINARY(4)", "VARBINARY(8)", "BLOB", "TINYBLOB", "MEDIUMBLOB", "LONGBLOB", "BLOB(50)")
BYTES += ("LONG VARBINARY",)
TIMES = ("DATE", "TIME", "TIME(3)", "DATETIME", "DATETIME(6)", "TIMESTAMP", "TIMESTAMP(3)", "YEAR", "YEAR(4)")
OTHERS = ("ENUM('a','b''c','d,e')", "SET('x','y')", "GEOMETRY", "POINT", "UUID", "INET6")
TEXT_OPTIONS = ("CHARACTER SET latin1", "CHARSET utf8mb4", "COLLATE utf8mb4_bin", "BINARY", "ASCII", "UNICODE")
TEXT_OPTIONS += ("CHARACTER SET latin1 COLLATE latin1_bin", "CHARSET = utf8mb4")
DEFAULTS = {
    INTEGERS: ("0", "1", "'7'", "5", "-1", "TRUE", "0x0A", "b'101'", "+3", "(1 + 1)"),
    DECIMALS: ("0", "1.5", "'2.50'", "-3", "1e1"),
    REALS: ("0", "1.5", "'2.5'", "-3", "1e1"),
    BITS: ("b'1'", "0", "1", "0x01"),
    SHORT_TEXTS: ("'a'", "''", '"x"', "'it''s'", "'a\\nb'", "'a' 'b'", "N'n'", "_latin1'l'", "5"),
    TIMES: ("0", "NULL"),
}
NAMES = ("a", "b", "c", "Dd", "e_1", "f$", "g h", "select", "k`l", "ö", "primary", "1x", "INDEX", "key", "comment")
PLAIN = ("a", "b", "c", "Dd", "e_1", "f$")
COLUMN_OPTIONS = ("COMMENT 'it''s, (a) comment'", "CHECK (1 = 1)", "CONSTRAINT CHECK (2 > 1)", "INVISIBLE")
TABLE_OPTIONS = ("ENGINE=InnoDB", "ENGINE InnoDB", "DEFAULT CHARSET=utf8mb4", "COMMENT='x, y'", "ROW_FORMAT=DYNAMIC")
TABLE_OPTIONS += ("AUTO_INCREMENT=5", "COLLATE utf8mb4_bin", "CHARACTER SET = utf8mb4", "KEY_BLOCK_SIZE 0")


@dataclass(slots=True)
class Drawn:
    """Draws statements about one table, of which it knows the columns that it may have now."""

    rng: Random
    table: str = "t"
    columns: list[str] = field(default_factory=list)

    def create(self) -> str:
        names = self.rng.sample(NAMES, self.rng.randint(1, 6))
        parts = [f"{self._name(name)} {self._definition()}" for name in names]
        plain = [self._name(name) for name in names]
        if self.rng.random() < 0.6:
            parts.insert(self.rng.randint(0, len(parts)), self._primary(plain))
        for _ in range(self.rng.randint(0, 2)):
            parts.insert(self.rng.randint(0, len(parts)), self._key(plain))
        self.columns = names
        options = self.rng.sample(TABLE_OPTIONS, self.rng.randint(0, 2))
        body = self._words(f"CREATE TABLE {self._name(self.table)} (") + ", ".join(parts) + ")"
        return " ".join([body, *options])

    def alter(self) -> str:
        actions = [self._action() for _ in range(self.rng.choice((1, 1, 1, 2, 3)))]
        return f"{self._words('ALTER TABLE')} {self._name(self.table)} {', '.join(actions)}"

    # --- actions -------------------------------------------------------------------------------------------------
    def _action(self) -> str:
        column, new = self.rng.choice(self.columns or ["a"]), self.rng.choice(NAMES)
        old, named = self._name(column), self._name(new)
        match self.rng.randint(0, 13):
            case 0 | 1 | 2:
                word = self._words(self.rng.choice(("ADD", "ADD COLUMN", "ADD COLUMN IF NOT EXISTS")))
                return f"{word} {named} {self._definition()}{self._place()}"
            case 3:
                other = self._name(self.rng.choice(NAMES))
                return f"{self._words('ADD')} ({named} {self._definition()}, {other} {self._definition()})"
            case 4:
                return f"{self._words(self.rng.choice(('DROP', 'DROP COLUMN', 'DROP COLUMN IF EXISTS')))} {old}"
            case 5 | 6:
                word = self._words(self.rng.choice(("MODIFY", "MODIFY COLUMN")))
                return f"{word} {old} {self._definition()}{self._place()}"
            case 7 | 8:
                word = self._words(self.rng.choice(("CHANGE", "CHANGE COLUMN")))
                return f"{word} {old} {named} {self._definition()}{self._place()}"
            case 9:
                return f"{self._words('RENAME COLUMN')} {old} {self._words('TO')} {named}"
            case 10:
                return self._words("DROP PRIMARY KEY")
            case 11:
                return f"{self._words('ADD')} {self._primary([self._name(each) for each in self.columns] or ['a'])}"
            case 12:
                return f"{self._words('ADD')} {self._key([self._name(each) for each in self.columns] or ['a'])}"
            case _:
                return self.rng.choice(
                    (*TABLE_OPTIONS, f"ALTER {old} SET DEFAULT 1", f"ALTER COLUMN {old} DROP DEFAULT")
                )

    def _place(self) -> str:
        if self.rng.random() < 0.7:
            return ""
        if self.rng.random() < 0.4:
            return f" {self._words('FIRST')}"
        return f" {self._words('AFTER')} {self._name(self.rng.choice(self.columns or ['a']))}"

    def _primary(self, names: list[str]) -> str:
        some = self.rng.sample(names, min(len(names), self.rng.randint(1, 2)))
        lead = self.rng.choice(("", "", "CONSTRAINT ", "CONSTRAINT pk "))
        tail = self.rng.choice(("", "", " USING BTREE", " COMMENT 'k'"))
        return f"{lead}{self._words('PRIMARY KEY')} ({', '.join(some)}){tail}"

    def _key(self, names: list[str]) -> str:
        kind = self._words(self.rng.choice(("KEY", "INDEX", "UNIQUE", "UNIQUE KEY", "UNIQUE INDEX")))
        tail = self.rng.choice(("", "", " USING BTREE", " COMMENT 'a, b'"))
        return f"{kind} ({self.rng.choice(names)}){tail}"

    # --- columns -------------------------------------------------------------------------------------------------
    def _definition(self) -> str:
        kinds = self.rng.choice(
            (
                INTEGERS,
                INTEGERS,
                DECIMALS,
                REALS,
                BITS,
                SHORT_TEXTS,
                SHORT_TEXTS,
                LONG_TEXTS,
                BYTES,
                TIMES,
                TIMES,
                OTHERS,
            )
        )
        words = [self._words(self.rng.choice(kinds)) if kinds is not OTHERS else self.rng.choice(kinds)]
        if kinds in (INTEGERS, DECIMALS, REALS) and "BOOL" not in words[0].upper() and self.rng.random() < 0.3:
            words.append(self._words(self.rng.choice(("UNSIGNED", "ZEROFILL", "UNSIGNED ZEROFILL", "SIGNED"))))
        if kinds in (SHORT_TEXTS, LONG_TEXTS) and self.rng.random() < 0.3:
            words.append(self.rng.choice(TEXT_OPTIONS))
        options = []
        is_key = self.rng.random() < 0.06
        if self.rng.random() < 0.4:
            options.append(self._words("NOT NULL" if is_key else self.rng.choice(("NOT NULL", "NULL"))))
        if kinds in DEFAULTS and self.rng.random() < 0.5:
            options.append(f"{self._words('DEFAULT')} {self.rng.choice(DEFAULTS[kinds])}")
        if self.rng.random() < 0.15:
            options.append(self.rng.choice(COLUMN_OPTIONS))
        if is_key:
            options.append(self._words(self.rng.choice(("PRIMARY KEY", "UNIQUE", "KEY", "UNIQUE KEY"))))
        self.rng.shuffle(options)
        return " ".join([*words, *options])

    # --- spelling ------------------------------------------------------------------------------------------------
    def _name(self, name: str) -> str:
        return name if name in PLAIN and self.rng.random() < 0.5 else "`" + name.replace("`", "``") + "`"

    def _words(self, words: str) -> str:
        """Words in some case, with blanks, line breaks or a comment between them."""
        if self.rng.random() < 0.4:
            words = words.lower()
        blank = self.rng.choice((" ", " ", " ", "  ", "\n", " /* c */ ", "\t"))
        return words.replace(" ", blank)
