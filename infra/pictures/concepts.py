"""The pictures of docs/concepts."""

from pictures.drawing import Drawing


def flow() -> Drawing:
    picture = Drawing(880, 230, "Messages become bronze, silver and gold")
    picture.box(20, 60, 150, 80, "messages", "Kafka, files, S3")
    picture.box(250, 60, 150, 80, "bronze", "bytes as they came", kind="note")
    picture.box(480, 60, 150, 80, "silver", "change events", kind="blue")
    picture.box(710, 60, 150, 80, "gold", "one table for each", "source table", kind="good")
    picture.arrow(170, 100, 250, 100, "land")
    picture.arrow(400, 100, 480, 100, "decode")
    picture.arrow(630, 100, 710, 100, "replay")
    picture.box(480, 170, 150, 44, "quarantine", kind="bad")
    picture.arrow(360, 140, 480, 186, dashed=True)
    picture.text(440, 30, "Every stage writes what it did with a window into ops.ledger", style="small")
    return picture


def windows() -> Drawing:
    picture = Drawing(880, 250, "A window is a range of positions; windows follow each other without a gap")
    for number, hour in enumerate(("05", "06", "07")):
        x = 150 + number * 230
        picture.box(x, 50, 220, 44, f"window 20260301T{hour}00Z", kind="blue")
    for row, (name, cuts) in enumerate((("partition 0", (40, 71, 96)), ("partition 1", (12, 12, 30)))):
        y = 120 + row * 50
        picture.text(20, y + 25, name, anchor="start")
        begin = 0
        for number, end in enumerate(cuts):
            words = f"offsets {begin} to {end - 1}" if end > begin else "nothing arrived"
            picture.box(150 + number * 230, y, 220, 38, words, kind="box" if end > begin else "note")
            begin = end
    picture.text(440, 28, "When a window is recorded, its range of every partition is fixed for good", style="small")
    picture.text(440, 240, "A late message belongs to the window in which it arrives", style="small")
    return picture


def sequences() -> Drawing:
    picture = Drawing(
        880, 220, "Changes are ordered by the sequence of the source database, not by the order of arrival"
    )
    arrived = (("UPDATE", "sequence 12"), ("INSERT", "sequence 10"), ("DELETE", "sequence 15"))
    picture.text(20, 60, "as they arrive", anchor="start")
    for number, lines in enumerate(arrived):
        picture.box(160 + number * 230, 35, 200, 50, *lines)
    picture.text(20, 160, "as they count", anchor="start")
    for number, at in enumerate((1, 0, 2)):
        picture.box(160 + number * 230, 135, 200, 50, *arrived[at], kind="good")
    picture.arrow(490, 85, 260, 135)
    picture.arrow(260, 85, 490, 135)
    picture.arrow(720, 85, 720, 135)
    picture.text(440, 210, "A sequence is (source epoch, high, low): whole numbers, never a clock", style="small")
    return picture


def fold() -> Drawing:
    picture = Drawing(880, 260, "The fold reduces the changes of a key to its last state")
    events = (
        ("10  INSERT", "id 1, name Ann, city Rome"),
        ("12  UPDATE", "id 1, city Oslo"),
        ("15  INSERT", "id 2, name Bob"),
        ("17  DELETE", "id 2"),
    )
    picture.text(180, 28, "change events of silver", style="head")
    for number, lines in enumerate(events):
        picture.box(30, 44 + number * 52, 300, 44, *lines, kind="blue")
    picture.box(410, 90, 120, 80, "fold", "last state", "of each key")
    picture.box(610, 66, 240, 50, "key 1", "name Ann, city Oslo", kind="good")
    picture.box(610, 150, 240, 50, "key 2", "tombstone: the row goes", kind="bad")
    picture.arrow(330, 130, 410, 130)
    picture.arrow(530, 120, 610, 92)
    picture.arrow(530, 140, 610, 174)
    return picture


def schema_changes() -> Drawing:
    picture = Drawing(880, 230, "Statements part a table's changes into epochs")
    picture.box(30, 60, 230, 60, "epoch 1", "id, name", kind="blue")
    picture.box(330, 60, 230, 60, "epoch 2", "id, name, city", kind="blue")
    picture.box(630, 60, 220, 60, "epoch 3", "id, full_name, city", kind="blue")
    picture.arrow(260, 90, 330, 90)
    picture.arrow(560, 90, 630, 90)
    picture.text(295, 40, "ADD COLUMN city", style="code")
    picture.text(595, 40, "RENAME name TO full_name", style="code")
    picture.text(440, 150, "Each row is read with the columns of its own epoch,")
    picture.text(440, 172, "then mapped to the last columns by their identity: name follows its rename.")
    picture.text(440, 208, "No row change moves across a statement", style="small")
    return picture


def holds() -> Drawing:
    picture = Drawing(880, 240, "A hold stops one table at a position; other tables go on")
    picture.text(20, 78, "shop.orders", anchor="start")
    picture.box(150, 50, 290, 44, "applied", kind="good")
    picture.box(450, 50, 120, 44, "hold", kind="bad")
    picture.box(580, 50, 270, 44, "waits in silver", kind="note")
    picture.text(20, 158, "shop.customers", anchor="start")
    picture.box(150, 130, 700, 44, "applied", kind="good")
    picture.arrow(150, 210, 850, 210)
    picture.text(860, 230, "sequence", style="small", anchor="end")
    picture.text(510, 34, "a statement that is not understood", style="small")
    return picture


def watermarks() -> Drawing:
    picture = Drawing(880, 240, "The watermark of a source is the lowest proof of its partitions")
    for row, (name, reached, proof) in enumerate(
        (
            ("partition 0", 560, "heartbeat 06:00:10"),
            ("partition 1", 420, "row 05:48:02"),
            ("partition 2", 640, "canary row 06:01:30"),
        )
    ):
        y = 40 + row * 50
        picture.text(20, y + 25, name, anchor="start")
        picture.box(140, y, reached - 140, 38, proof, kind="good")
    picture.line(420, 24, 420, 196, dashed=True)
    picture.text(428, 206, "watermark 05:48:02: everything before it is in gold", anchor="start")
    picture.text(440, 232, "A partition without new messages does not prove that it is complete", style="small")
    return picture


def cuts() -> Drawing:
    picture = Drawing(880, 230, "A consistent cut names one snapshot of each table at a window")
    for row, (name, snapshots) in enumerate(
        (("gold_shop.orders", ("s1", "s2", "s3")), ("gold_shop.customers", ("s7", "", "s8")))
    ):
        y = 50 + row * 60
        picture.text(20, y + 27, name, anchor="start")
        for number, name_of in enumerate(snapshots):
            words = f"snapshot {name_of}" if name_of else "no change"
            picture.box(190 + number * 230, y, 200, 44, words, kind="blue" if name_of else "box")
    for number, hour in enumerate(("05", "06", "07")):
        picture.text(290 + number * 230, 34, f"20260301T{hour}00Z", style="code")
    picture.line(636, 20, 636, 180, dashed=True)
    picture.text(440, 208, "The cut at 20260301T0600Z: orders as s2, customers as s7", style="small")
    return picture


PICTURES = {
    "flow": flow,
    "windows": windows,
    "sequences": sequences,
    "fold": fold,
    "schema_changes": schema_changes,
    "holds": holds,
    "watermarks": watermarks,
    "cuts": cuts,
}
"""Each picture by its name: docs/images/<name>.svg."""
