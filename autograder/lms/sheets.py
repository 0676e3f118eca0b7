"""An LMS's own sheet, CSV or TSV: read, changed cell by cell, and written back with every other byte as it was.

Called by the systems' modules, roster, decisions and give_back.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from typing import Any

from autograder.errors import UserError
from ffnlab.untrusted_text import in_a_line

MAX_BYTES = 64 * 2**20
BOMS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
DELIMITERS = ",;\t"
SEPARATOR = re.compile(r"sep=(?P<sign>[,;\t])\r?\n", re.IGNORECASE)
# Of spreadsheet programs, by where they were used; in the last, every byte is a letter.
ENCODINGS = ("cp1252", "mac_roman", "cp1250", "cp1251", "latin-1")
WESTERN = frozenset("äöüßÄÖÜéèêëáàâãåçñíìîïóòôõøúùûýæœÉÈÊÁÀÂÃÅÇÑÍÎÓÔÕØÚÛÆŒ")
LINE_END = re.compile(r"\r\n|\r|\n")
NUMBER = re.compile(r"-?\d+(?:(?P<separator>[.,])(?P<decimals>\d+))?")
# What a spreadsheet takes for one, and what has been kept from that already.
FORMULA = re.compile(r"'*(?:\s*[=+\-@＝＋－＠]|[\t\r\n])")


class SheetRow(list[str]):
    """A line's cells. What is not there, by a place or by None, is empty. place: among the rows. line: in the file, for messages."""

    def __init__(self, cells: Iterable[str], place: int, line: int) -> None:
        super().__init__(cells)
        self.place, self.line = place, line

    def __getitem__(self, place: Any) -> Any:
        return super().__getitem__(place) if isinstance(place, int) and place < len(self) else ""


@dataclass
class Sheet:
    """A sheet, to the byte."""

    name: str  # for messages
    header: SheetRow
    rows: list[SheetRow]
    delimiter: str
    encoding: str
    bom: bytes = b""
    lead: str = ""  # before the header: blank lines, or one that says what is between the cells
    doubtful_text: str = ""  # a word of it, where it is not known in which encoding it was written
    # Each cell as it stands in the file: the header's, the rows'.
    raw: list[list[str]] = field(default_factory=list, repr=False)
    # What ends each of those lines, with blank lines behind it.
    ends: list[str] = field(default_factory=list, repr=False)

    @classmethod
    def read(cls, path: Path, names: Collection[str] = ()) -> Sheet:
        """The sheet in a file. names: some that may be on it, as another source writes them.

        Raises:
            UserError: it can't be read, or is no sheet of text.
        """
        try:
            if path.stat().st_size > MAX_BYTES:
                raise UserError(f"{path} is too large for a sheet")
            return cls.of(path.read_bytes(), path.name, names)
        except OSError as error:
            raise UserError(f"{path} can't be read: {error.strerror}") from None

    @classmethod
    def of(cls, data: bytes, name: str, names: Collection[str] = ()) -> Sheet:
        """The sheet in these bytes. names: some that may be on it, as another source writes them. Raises UserError: it is none."""
        if data.startswith(b"PK\3\4"):
            raise UserError(f"{name} is a zip or a workbook: save the sheet as CSV (UTF-8)")
        bom, encoding = next(((bom, code) for bom, code in BOMS if data.startswith(bom)), (b"", "utf-8"))
        doubtful = ""
        try:
            text = data[len(bom) :].decode(encoding)
        except UnicodeDecodeError:
            encoding, doubtful = _guess_encoding(data, names)
            text = data[len(bom) :].decode(encoding)
        if "\0" in text:
            raise UserError(f"{name} is not a text file")
        body = text.lstrip("\r\n")
        setting = SEPARATOR.match(body)  # Excel's own line, which says what is between the cells
        if setting:
            body = body[setting.end() :].lstrip("\r\n")
        delimiter = setting["sign"] if setting else _delimiter(body)
        sheet = cls(name, SheetRow((), -1, 1), [], delimiter, encoding, bom, text[: len(text) - len(body)])
        sheet.doubtful_text = doubtful
        sheet._split(body)
        if not sheet.raw:
            raise UserError(f"{name} is empty")
        return sheet

    def _split(self, text: str) -> None:
        """Cut a text into cells, as the csv module does, and keep how each was written."""
        plain = rf"[^{self.delimiter}\r\n]*"
        cell = re.compile(rf'"(?P<quoted>[^"]*(?:""[^"]*)*)"(?P<rest>{plain})|(?P<plain>{plain})')
        place = 0
        line = 1 + len(LINE_END.findall(self.lead))
        while place < len(text):
            raw: list[str] = []
            values: list[str] = []
            start = place
            while True:
                match = cell.match(text, place)
                assert match  # an empty cell matches too
                raw.append(match[0])
                quoted_text = match["quoted"]
                values.append(match["plain"] if quoted_text is None else quoted_text.replace('""', '"') + match["rest"])
                place = match.end()
                if not text.startswith(self.delimiter, place):
                    break
                place += 1
            end = re.compile(r"[\r\n]*").match(text, place)
            assert end
            row = SheetRow(values, len(self.raw) - 1, line)
            if self.raw:
                self.rows.append(row)
            else:
                self.header = row
            self.raw.append(raw)
            self.ends.append(end[0])
            place = end.end()
            line += len(LINE_END.findall(text, start, place))

    @property
    def titles(self) -> str:
        """The header's titles, for a message."""
        return in_a_line(", ".join(self.header), 300)

    def column(self, *titles: str) -> int | None:
        """The place of the first column that has one of these titles, whatever its case; None where there is none."""
        plain_titles = {_plain(title) for title in titles}
        return next((place for place, title in enumerate(self.header) if _plain(title) in plain_titles), None)

    def put(self, row: SheetRow, column: int, text: str) -> None:
        """Write a cell; quoted, where the one that stood there was, or the whole header is, or it has to be."""
        cells = self.raw[row.place + 1]
        for line in (cells, row):
            line.extend([""] * (column + 1 - len(line)))
        special = any(letter in text for letter in f'{self.delimiter}"\r\n')
        everywhere = all(title.startswith('"') for title in self.raw[0])
        needs_quotes = special or everywhere or cells[column].startswith('"')
        cells[column] = '"' + text.replace('"', '""') + '"' if needs_quotes else text
        row[column] = text

    def to_bytes(self, keep: Sequence[int] | None = None, titles: Mapping[int, str] | None = None) -> bytes:
        """The file's bytes. keep: only these columns. titles: new ones, by column."""
        lines = []
        for number, (cells, end) in enumerate(zip(self.raw, self.ends, strict=True)):
            line_cells = list(cells)
            if number == 0:
                for place, title in (titles or {}).items():
                    line_cells[place] = f'"{title}"' if cells[place].startswith('"') else title
            if keep is not None:
                line_cells = [line_cells[place] if place < len(line_cells) else "" for place in keep]
            lines.append(self.delimiter.join(line_cells) + end)
        return self.bom + (self.lead + "".join(lines)).encode(self.encoding)


def _guess_encoding(data: bytes, names: Collection[str]) -> tuple[str, str]:
    """In which encoding a spreadsheet program has saved a sheet that is not UTF-8, and a word of it that may be wrong; empty where it is surely right.

    It is the one in which the most of the names are there; without such a name, the one in which the most of what is no ASCII is letters of Western names.
    Every encoding that is tried gives the same bytes back.
    """
    special = [name for name in names if not name.isascii()]
    ranking = []
    for encoding in ENCODINGS:
        try:
            text = data.decode(encoding)
        except UnicodeDecodeError:
            continue
        if text.encode(encoding) != data:
            continue
        found = sum(unicodedata.normalize("NFC", name) in text for name in special)
        letters = [letter for letter in text if not letter.isascii()]
        good = sum(letter in WESTERN for letter in letters) - sum(not letter.isalpha() for letter in letters)
        ranking.append(((found, good), encoding, text))
    (found, _), encoding, text = max(ranking, key=lambda ranked: ranked[0])
    word = next((word for word in re.findall(r"\w+", text) if not word.isascii()), "")
    return encoding, "" if found else word


def _plain(title: str) -> str:
    return unicodedata.normalize("NFC", title).strip().casefold()


def _delimiter(text: str) -> str:
    """The sign that stands most often between the titles of a header."""
    header = re.sub(r'"[^"]*"', "", text[:100_000]).lstrip("\r\n")
    first = LINE_END.split(header, maxsplit=1)[0]
    return max(DELIMITERS, key=first.count)


def make_table(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> bytes:
    """A sheet of ours, for people's spreadsheets: no cell of it is taken for a formula."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_MINIMAL)
    quoting_writer = csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_ALL)
    writer.writerow(titles)
    for row in rows:
        cells = [guard(cell) for cell in row]
        # A carriage return ends a line for whoever reads the sheet, and not every Python quotes it.
        if any("\r" in cell for cell in cells):
            quoting_writer.writerow(cells)
        else:
            writer.writerow(cells)
    return codecs.BOM_UTF8 + text.getvalue().encode("utf-8", errors="replace")


def guard(text: str) -> str:
    """A text that no spreadsheet takes for a formula: with a ' before it, where it would be."""
    return f"'{text}" if FORMULA.match(text) else text


def unguard(text: str) -> str:
    """The text as it was before it was guarded."""
    return text[1:] if text.startswith("'") and FORMULA.match(text[1:]) else text


# A spreadsheet program writes a sign behind its E, as nobody does in a number on the roll such as 19E0042.
ROUNDED = re.compile(r"[+-]?\d+(?:[.,]\d+)?E[+-]\d+|[+-]?\d+[.,]\d+E\d+", re.IGNORECASE)


def is_rounded(text: str) -> bool:
    """Whether a text is what a spreadsheet program makes of a long number, as in 2.0231E+11, so that nobody knows which it was."""
    return bool(ROUNDED.fullmatch(text.strip()))


def parse_number(text: str) -> float | None:
    """A number with a point or a comma; None where it is none."""
    return float(text.strip().replace(",", ".")) if NUMBER.fullmatch(text.strip()) else None


def format_points(points: float, maximum: str, others: Iterable[str] = ()) -> str:
    """Points as the sheet writes numbers: with the decimals and the separator of the maximum's cell, else of the others; never rounded to fewer than two."""
    matches = [match for text in (maximum, *others) if (match := NUMBER.fullmatch(text.strip()))]
    separator = next((match["separator"] for match in matches if match["separator"]), ".")
    first = matches[:1] if NUMBER.fullmatch(maximum.strip()) else matches
    decimals = max((len(match["decimals"] or "") for match in first), default=0)
    text = str(Decimal(str(points + 0.0)).quantize(Decimal(1).scaleb(-max(2, decimals)), ROUND_HALF_UP))
    while text[-1] == "0" and len(text.partition(".")[2]) > decimals:
        text = text[:-1]
    return text.rstrip(".").replace(".", separator)


@dataclass
class GradeSheet:
    """What a system's sheet means, and how it is given back."""

    sheet: Sheet
    column: int  # the one that takes the grades
    ids: Callable[[SheetRow], Mapping[str, str]]  # of a row, by the roster's columns
    maximum: Callable[[SheetRow], str] = lambda row: ""  # of a row, as written
    nobody: Callable[[SheetRow], bool] = lambda row: False  # whether a row is about no student
    locked: Callable[[SheetRow], bool] = lambda row: False  # whether the LMS takes no grade for a row
    lock: str = "is locked"  # why it takes none
    grade_time: Callable[[SheetRow], str] = lambda row: ""  # when the LMS was given a grade before, in its own words
    keep: tuple[int, ...] | None = None  # the columns that are given back; None: all
    title: str = ""  # the column's, where it is another one on the way back
    over: str = ""  # what becomes of points above the maximum
    advice: str = ""  # for whoever uploads it

    def to_bytes(self) -> bytes:
        """The file for the LMS."""
        return self.sheet.to_bytes(self.keep, {self.column: self.title} if self.title else None)


def choose_column(sheet: Sheet, candidates: Sequence[int], column: str, short: Callable[[str], Sequence[str]]) -> int:
    """The column for the grades: the one that was asked for, or the only one there is.

    column: its title, one of its `short` names, or how it alone begins.

    Raises:
        UserError: none or several could be meant.
    """
    if column:
        exact = [place for place, title in enumerate(sheet.header) if _plain(title) == _plain(column)]
        short_name = _plain(column.strip("()"))
        places = exact or [
            place
            for place in candidates
            if short_name in {_plain(part.strip("()| ")) for part in short(sheet.header[place])}
        ]
        places = places or [place for place in candidates if _plain(sheet.header[place]).startswith(_plain(column))]
    else:
        places = list(candidates)
    if len(places) == 1:
        return places[0]
    titles = in_a_line("; ".join(sheet.header[place] for place in candidates) or "none", 600)
    what = f"{len(candidates)} columns for grades"
    if column:
        what = f"{len(places) or 'no'} columns for grades that begin with {in_a_line(column, 100)!r}"
    raise UserError(f"{sheet.name} has {what}: say which one with --column. There are: {titles}")
