"""What may stand in a class's course.toml, and one line on what can't. Called by policy, which computes with it."""

from __future__ import annotations

import difflib
import json
import re
import tomllib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from fnmatch import fnmatchcase
from typing import Annotated, Any, Literal, Self
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from pydantic import BaseModel, ConfigDict, Field, PlainValidator, ValidationError, model_validator

from autograder import outline
from autograder.engine.released_notebook import Kind, template
from autograder.errors import UserError, suggest_nearest
from autograder.paths import assignments, release
from autograder.times import YEARS
from ffnlab.untrusted_text import in_a_line

PRACTICE = ("quiz_*",)  # quizzes can be tried until they are right: they are for learning
DURATION = re.compile(r"(\d{1,4}) ?(minute|hour|day|week)s?")
MAX_DURATION = timedelta(days=366)
MAX_PARAGRAPH = 5000  # characters of what a class says on language models
MAX_NUMBER_BITS = 1000  # bits; Python writes none with more than 4,300 digits
MAX_NUMBER = 1_000_000  # with larger numbers sums are no numbers any more


def read(text: str, where: str) -> PolicyFile:
    """What stands in a text. `where` names it in error messages.

    Raises:
        UserError: it says something that can't be: which key, what stands there, what was expected.
    """
    try:
        table = tomllib.loads(text)
    except RecursionError:
        raise UserError(f"{where} is nested too deeply") from None
    except ValueError as error:  # TOMLDecodeError is one; a number of very many digits raises another
        raise UserError(f"{where} is not TOML: {in_a_line(str(error))}") from None
    try:
        file = PolicyFile.model_validate(table)
    except ValidationError as error:
        raise UserError(f"{where}: {_describe_error(error.errors()[0])}") from None
    for trouble in _troubles(file):
        raise UserError(f"{where}: {trouble}")
    return file


def by_folder(file: PolicyFile, matches: Callable[[str], Sequence[str]], where: str) -> PolicyFile:
    """The rules with each student's folder for what the file calls them. A name that may be several students', or nobody's, stays.

    matches: the folders of those who may be meant.

    Raises:
        UserError: two tables, or two groups, are about the same student.
    """

    def folder(name: str) -> str:
        folders = matches(name)
        return folders[0] if len(folders) == 1 else name

    extensions: dict[str, Any] = {}
    for name, by_notebook in file.extensions.items():
        if folder(name) in extensions:
            raise UserError(
                f"{where}: extensions.{quote_key(name)} and another table of extensions are both about {folder(name)}"
            )
        extensions[folder(name)] = by_notebook
    groups = tuple(
        group.model_copy(update={"students": tuple(dict.fromkeys(map(folder, group.students)))})
        for group in file.groups
    )
    new_file = file.model_copy(update={"extensions": extensions, "groups": groups})
    for trouble in _of_groups(new_file, assignments()):
        raise UserError(f"{where}: {trouble}")
    return new_file


# Its tables. A field's description is what an error message says was expected.


def _duration(value: object) -> timedelta:
    match = DURATION.fullmatch(value) if isinstance(value, str) else None
    length = timedelta(**{f"{match[2]}s": int(match[1])}) if match else None
    if length is None or length > MAX_DURATION:
        raise ValueError
    return length


def _moment(value: object) -> datetime:
    """A date is the last moment of that day. Without an offset it is in the class's time zone, filled in later."""
    if isinstance(value, date) and not isinstance(value, datetime):
        value = datetime.combine(value, time.max)
    if not isinstance(value, datetime) or value.year not in YEARS:
        raise ValueError
    return value


@dataclass(frozen=True)
class Extension:
    """How much longer a student has."""

    length: timedelta
    in_days: bool  # the same time of day some days later, however long a day in which clocks change is


def _until(value: object) -> datetime | Extension:
    if isinstance(value, str):
        return Extension(_duration(value), in_days="day" in value or "week" in value)
    return _moment(value)


def _zone(value: object) -> ZoneInfo:
    try:
        return ZoneInfo(str(value))
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ValueError from None


LENGTH = 'a text such as "15 minutes", "2 hours" or "1 day"'
UP_TO_MAX_NUMBER = f"a number from 0 to {MAX_NUMBER:,}"
DATE = "a date such as 2026-11-02, or with a time 2026-11-02T18:00:00"
Names = tuple[str, ...]
Duration = Annotated[timedelta, PlainValidator(_duration)]


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class LatePenalty(_Table):
    percent_a_day: float | None = Field(default=None, ge=0, le=100, strict=True, description="a number from 0 to 100")
    points_a_day: float | None = Field(default=None, ge=0, le=MAX_NUMBER, strict=True, description=UP_TO_MAX_NUMBER)
    floor: float = Field(
        default=0.0, ge=0, le=100, strict=True, description="a number from 0 to 100 (percent of what was earned)"
    )
    last_day: int | None = Field(default=None, ge=0, le=MAX_NUMBER, strict=True, description="a whole number of days")

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if self.percent_a_day is not None and self.points_a_day is not None:
            raise ValueError("set percent_a_day or points_a_day, not both")
        if self.percent_a_day is None and self.points_a_day is None and self.last_day is None:
            raise ValueError("set percent_a_day, points_a_day or last_day")
        return self


class AssignmentRules(_Table):
    due: Annotated[datetime, PlainValidator(_moment)] | None = Field(default=None, description=DATE)
    grace: Duration | None = Field(default=None, description=LENGTH)
    late: LatePenalty | None = Field(default=None, description="a table")
    attempts: Literal["latest", "best"] | None = Field(default=None, description='"latest" or "best"')
    weight: float | None = Field(default=None, ge=0, le=MAX_NUMBER, strict=True, description=UP_TO_MAX_NUMBER)


class GroupRule(_Table):
    students: Names = Field(min_length=1, description="a list of students' names")
    notebooks: Names = Field(default=(), description="a list of notebooks' names")

    def is_for(self, assignment: str) -> bool:
        """Whether they hand in this assignment together."""
        return not self.notebooks or assignment in self.notebooks


class PolicyFile(_Table):
    time_zone: Annotated[ZoneInfo, PlainValidator(_zone)] | None = Field(
        default=None, description='a time zone such as "Europe/Berlin"'
    )
    notebooks: Names | None = Field(default=None, min_length=1, description="a list of notebooks' names")
    does_not_count: Names = Field(default=PRACTICE, description='a list of exercises or patterns such as "quiz_*"')
    extra_credit: Names = Field(default=(), description="a list of exercises or questions")
    grace: Duration = Field(default=timedelta(0), description=LENGTH)
    late: LatePenalty | None = Field(default=None, description="a table")
    attempts: Literal["latest", "best"] = Field(default="latest", description='"latest" or "best"')
    weight: float | None = Field(default=None, ge=0, le=MAX_NUMBER, strict=True, description=UP_TO_MAX_NUMBER)
    assignments: dict[str, AssignmentRules] = Field(default={}, description="a table for each notebook")
    extensions: dict[str, dict[str, Annotated[datetime | Extension, PlainValidator(_until)]]] = Field(
        default={}, description=f'{DATE}, or a text such as "3 days"'
    )
    language_models: str | None = Field(
        default=None, min_length=1, max_length=MAX_PARAGRAPH, strict=True,
        description=f"a text of at most {MAX_PARAGRAPH:,} characters",
    )  # fmt: skip
    groups: tuple[GroupRule, ...] = Field(default=(), description='[[groups]] with students = ["…"]')

    def rules(self, assignment: str) -> AssignmentRules:
        """What is said of one assignment alone."""
        return self.assignments.get(assignment) or AssignmentRules()

    def weight_of(self, assignment: str) -> float | None:
        """Its weight in the course grade; None where weights are not used."""
        weight = self.rules(assignment).weight
        return self.weight if weight is None else weight


def exercise_and_question_points(assignment: str) -> dict[str, float]:
    """The points of a notebook's exercises and questions, by name."""
    points = {exercise.name: exercise.points for exercise in outline.of_notebook(assignment)}
    for cell in template(release(assignment)):
        if cell.kind is Kind.MANUAL:
            points[cell.name] = float(cell.metadata["nbgrader"]["points"])
    return points


# What can't be, though each value by itself could: a line each.


def _troubles(file: PolicyFile) -> Iterator[str]:
    every = assignments()
    for name in file.notebooks or ():
        yield from _unknown("notebooks", name, every)
    for name, rules in file.assignments.items():
        yield from _unknown("assignments", name, every)
        if rules.due and _lacks_zone(file, rules.due):
            yield (
                f"assignments.{name}.due is {format_value(rules.due)}, without a time zone: "
                'write time_zone = "Europe/Berlin" at the top of the file, or the offset after the time, as in 2026-11-02T18:00:00+01:00'
            )
    for student, by_notebook in file.extensions.items():
        for name, until in by_notebook.items():
            yield from _of_extension(file, f"extensions.{quote_key(student)}", name, until, every)
    yield from _of_patterns(file)
    yield from _of_groups(file, every)
    yield from _of_weights(file, every)


def _unknown(key: str, name: str, notebooks: Sequence[str]) -> Iterator[str]:
    if name not in notebooks:
        hint = suggest_nearest(name, notebooks, format_value) or f"; there are {', '.join(notebooks)}"
        yield f"{key} names {format_value(name)}, but no notebook has this name{hint}"


def _lacks_zone(file: PolicyFile, moment: datetime) -> bool:
    return moment.tzinfo is None and file.time_zone is None


def _of_extension(
    file: PolicyFile, key: str, name: str, until: datetime | Extension, every: Sequence[str]
) -> Iterator[str]:
    if "*" not in name:
        yield from _unknown(key, name, every)
        if file.rules(name).due is None:
            yield f"{key} extends {name}, which has no due date: set assignments.{name}.due"
    elif isinstance(until, datetime):
        yield f'{key} gives "{name}" one date; for several notebooks, write a text such as "3 days"'
    if isinstance(until, datetime) and _lacks_zone(file, until):
        yield f"{key}.{name} is {format_value(until)}, without a time zone: set time_zone, or write the offset"


def _of_patterns(file: PolicyFile) -> Iterator[str]:
    patterns = []
    if "does_not_count" in file.model_fields_set:
        patterns += [("does_not_count", pattern) for pattern in file.does_not_count]
    patterns += [("extra_credit", pattern) for pattern in file.extra_credit]
    if not patterns:
        return
    parts = [(notebook, part) for notebook in assignments() for part in exercise_and_question_points(notebook)]
    short = [part for _, part in parts]
    full = [f"{notebook}/{part}" for notebook, part in parts]
    for key, pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name in (*short, *full)):
            hint = suggest_nearest(pattern, full if "/" in pattern else short, format_value)
            yield f"{key} has {format_value(pattern)}, but no exercise or question has this name{hint}"


def _of_groups(file: PolicyFile, every: Sequence[str]) -> Iterator[str]:
    group_numbers: dict[tuple[str, str], int] = {}
    for number, group in enumerate(file.groups, 1):
        for name in group.notebooks:
            yield from _unknown(f"groups, number {number}, notebooks", name, every)
        for student in group.students:
            for notebook in group.notebooks or every:
                first = group_numbers.setdefault((student, notebook), number)
                if first != number:
                    yield f"{student} is in groups number {first} and {number} for {notebook}: keep one of them"


def _of_weights(file: PolicyFile, every: Sequence[str]) -> Iterator[str]:
    weights = {name: file.weight_of(name) for name in every if file.notebooks is None or name in file.notebooks}
    with_weight = [name for name, weight in weights.items() if weight is not None]
    missing = [name for name, weight in weights.items() if weight is None]
    if with_weight and missing:
        yield (
            f"{with_weight[0]} has a weight and {missing[0]} has none: give each notebook one, "
            "or set `weight` at the top of the file for the rest"
        )
    elif with_weight and not any(weights.values()):
        yield "every notebook has the weight 0: give at least one a larger weight"


# Errors in words.


def _describe_error(error: Any) -> str:
    """One line on what pydantic found: the key, what stands there, what was expected."""
    place: tuple[str | int, ...] = tuple(part for part in error["loc"])
    if error["type"] == "extra_forbidden":
        *above, name = place
        field_names = list(_at(above)[0].model_fields)
        where = f"{_key(above)} has " if above else "there is "
        return f"{where}no key {format_value(str(name))}{suggest_nearest(str(name), field_names, format_value) or '; there are ' + ', '.join(field_names)}"
    if error["type"] == "value_error" and str(error["ctx"]["error"]):
        return f"{_key(place)}: {error['ctx']['error']}"
    if error["type"] == "missing":
        return f"{_key(place)} is missing; {_at(place)[1]} was expected"
    hint = _near_zone(error["input"]) if place == ("time_zone",) and isinstance(error["input"], str) else ""
    return f"{_key(place)} is {format_value(error['input'])}; {_at(place)[1]} was expected{hint}"


_TABLES: dict[str | int, type[_Table]] = {"late": LatePenalty, "assignments": AssignmentRules, "groups": GroupRule}


def _at(place: Sequence[str | int]) -> tuple[type[_Table], str]:
    """The table that a place in the file is in, or is, and what was expected there."""
    table: type[_Table] = PolicyFile
    description = ""
    for part in place:
        if part in table.model_fields:
            description = table.model_fields[str(part)].description or ""
            if part == "extensions":
                return table, description if len(place) > 2 else 'a table such as { ASSIGNMENT = "3 days" }'
            table = _TABLES.get(part, table)
    return table, description


def _key(place: Sequence[str | int]) -> str:
    text = ""
    for part in place:
        if isinstance(part, int):
            text += f", number {part + 1}"
        else:
            text += f"{'.' if text and not text[-1].isspace() else ''}{quote_key(part)}"
    return text


def quote_key(name: str) -> str:
    """A key as TOML writes it."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else format_value(name)


def format_value(value: object) -> str:
    """A value as it stands in the file, not longer than a line."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int) and value.bit_length() > MAX_NUMBER_BITS:
        return "a very large number"
    if isinstance(value, str):
        return json.dumps(in_a_line(value, 60), ensure_ascii=False)
    if isinstance(value, datetime) and value.time() == time.max:
        return value.date().isoformat()
    if isinstance(value, (datetime, date, time)):
        return value.isoformat()
    if isinstance(value, (list, tuple)):
        return in_a_line(f"[{', '.join(map(format_value, value))}]", 80)
    return "a table" if isinstance(value, dict) else in_a_line(str(value), 60)


def _near_zone(value: str) -> str:
    """A time zone by its city or something near."""
    cities = {zone.rpartition("/")[2].lower(): zone for zone in sorted(available_timezones()) if "/" in zone}
    city = value.rpartition("/")[2].strip().lower().replace(" ", "_")
    close = difflib.get_close_matches(city, cities, n=1, cutoff=0.6)
    return f"; did you mean {format_value(cities[close[0]])}?" if close else ""
