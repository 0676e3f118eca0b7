"""Gradescope: "Export submissions", the roster, and an autograder that gives back scores which were found here.

`submission_metadata.yml` has Ruby's symbols as keys (":submitters"); all of it is read as text, so that no id becomes a number. The way back is a zip with
an autograder whose `run_autograder` looks up the submission and writes its results: no student code runs there, and Gradescope has no other door for grades.
Source: gradescope-autograders.readthedocs.io (specifications, technical details). Called through autograder.lms.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import tzinfo
from typing import TYPE_CHECKING, Any

from autograder.errors import UserError
from autograder.lms.archive import ArchiveEntry, Refused, normalize_name, zip_files
from autograder.lms.base import Lms
from autograder.lms.records import ExportedFile, Person
from autograder.lms.sheets import Sheet
from autograder.times import parse_moment

if TYPE_CHECKING:
    from autograder.gradebook.scores import Score
    from autograder.transfer.give_back import GradeExport

NAME = "gradescope"
METADATA = "submission_metadata.yml"
SUBMISSION = re.compile(r"submission_(?P<number>\d+)(?:\.\w+)?")
MAX_METADATA_BYTES = 32 * 2**20
MAX_DEPTH = 30  # libyaml ends the process where it is nested some thousands deep

FIRST, LAST, FULL_NAME = ("First Name",), ("Last Name",), ("Name", "Full Name")
SID, EMAIL, ROLE = ("SID", "Student ID"), ("Email",), ("Role",)


def _metadata(entry: ArchiveEntry) -> dict[str, dict[str, Any]]:
    if entry.size > MAX_METADATA_BYTES:
        raise UserError(f"{METADATA} is too large: {entry.size / 2**20:,.0f} MiB")
    import yaml  # takes a while, and few commands need it

    loader: Any = getattr(yaml, "CBaseLoader", yaml.BaseLoader)  # makes nothing but text, lists and mappings
    try:
        text = entry.read().decode("utf-8-sig")
        depth = 0
        for event in yaml.parse(text, Loader=loader):
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if depth > MAX_DEPTH:
                raise UserError(f"{METADATA} can't be read: it is nested too deeply")
        metadata = yaml.load(text, Loader=loader)
    except (Refused, yaml.YAMLError, ValueError, RecursionError, TypeError) as error:
        raise UserError(f"{METADATA} can't be read: {' '.join(str(error).split())[:120]}") from None
    if not isinstance(metadata, dict):
        raise UserError(f"{METADATA} can't be read: it should have a submission on each line")
    return {str(name): about for name, about in metadata.items() if isinstance(about, dict)}


def _submitters(about: dict[str, Any] | None) -> tuple[Person, ...]:
    """The people of a submission who have an id or an e-mail address."""
    submitters = about.get(":submitters") if about else None
    people = []
    for submitter in submitters if isinstance(submitters, list) else ():
        if isinstance(submitter, dict):
            ids = {"sis_id": _text(submitter.get(":sid")), "email": _text(submitter.get(":email"))}
            ids = {name: text for name, text in ids.items() if text}
            if not ids:
                return ()
            people.append(Person(ids, name=_text(submitter.get(":name"))))
    return tuple(people)


def _text(value: object) -> str:
    return "" if not isinstance(value, str) or value.strip() in ("~", "null") else value.strip()


def _token(person: Person) -> str:
    return person.ids.get("sis_id") or person.ids["email"].casefold()


SETUP = "#!/usr/bin/env bash\n# Nothing is installed: the results were found elsewhere.\nexit 0\n"
RUN = '''#!/usr/bin/env python3
"""Gives a submission the results that were found for it on the instructor's machine."""
import json, os, shutil, sys
home = os.environ.get("AUTOGRADER_HOME", "/autograder")
with open(os.path.join(home, "submission_metadata.json"), encoding="utf-8") as file:
    number = str(json.load(file)["id"])
kept = os.path.join(home, "source", "results", number + ".json")
if not number.isdigit() or not os.path.isfile(kept):
    sys.exit("submission " + number + " was handed in after the last collection, so it has not been graded yet")
os.makedirs(os.path.join(home, "results"), exist_ok=True)
draft = os.path.join(home, "results", "results.json.draft")
shutil.copyfile(kept, draft)
os.replace(draft, os.path.join(home, "results", "results.json"))
'''


def _make_results(points: float, scores: Iterable[Score], page: str) -> dict[str, Any]:
    """A submission's `results.json`. points: over all. page: HTML, shown above the scores."""
    about = {"output_format": "html", "visibility": "after_published", "stdout_visibility": "hidden"}
    return {"score": points, "output": page, **about, "tests": [_make_test(score) for score in scores]}


def _make_test(score: Score) -> dict[str, object]:
    test = {"name": score.name, "score": round(score.score, 6), "max_score": score.max_score}
    output = score.comment or ("not read yet" if score.waits else "")
    return test | {"output": output, "output_format": "text", "visibility": "after_published"}


def _group_scores(results: Mapping[str, Any]) -> object:
    """Of a submission's results, what members of a group must have in common."""
    return results["score"], [(test["name"], test["score"], test["output"]) for test in results["tests"]]


class Gradescope(Lms):
    name, title = NAME, "Gradescope"
    sheet = ""
    is_local_time = False
    rank = 4
    instead = "makes an autograder that gives each submission the results found here"

    def fits(self, path: str) -> bool:
        return path == METADATA or bool(SUBMISSION.fullmatch(path.split("/")[0]))

    def exported_files(
        self, entries: Sequence[ArchiveEntry], zone: tzinfo | None
    ) -> tuple[list[ExportedFile], list[str]]:
        """Raises UserError: there is no metadata that can be read, without which nobody knows whose a submission is."""
        about = next((entry for entry in entries if entry.name == METADATA), None)
        if about is None:
            raise UserError(
                f"{METADATA} is missing from this export of Gradescope, so nothing says whose each submission is"
            )
        metadata = _metadata(about)
        exported_files, unknown = [], []
        for entry in entries:
            if entry is about:
                continue
            top, _, below = normalize_name(entry.name).partition("/")
            match = SUBMISSION.fullmatch(top)
            people = _submitters(metadata.get(top)) if match else ()
            if not match or not people:
                unknown.append(entry.name)
                continue
            time_text = str(metadata[top].get(":created_at") or "an empty text")
            names = ", ".join(person.name for person in people)
            exported_files.append(
                ExportedFile(
                    NAME,
                    "+".join(sorted(_token(person) for person in people)),
                    people,
                    names,
                    entry.name,
                    "" if entry.is_folder else below or top,
                    entry.read,
                    submission_id=match["number"],
                    handed_in_at=parse_moment(time_text),
                    group=names if len(people) > 1 else "",
                    unreadable_time=time_text,
                    back={"submission": match["number"]},
                )
            )
        return exported_files, unknown

    def people(self, sheet: Sheet) -> list[Person] | None:
        """Who is on a roster or among exported grades; None where it is not Gradescope's."""
        sid, email = sheet.column(*SID), sheet.column(*EMAIL)
        first, last, name = sheet.column(*FIRST), sheet.column(*LAST), sheet.column(*FULL_NAME)
        if sheet.column("SID") is None or email is None or (name is None and (first is None or last is None)):
            return None
        people = []
        for row in sheet.rows:
            ids = {"sis_id": row[sid], "email": row[email]}
            if any(ids.values()) and row[sheet.column(*ROLE)].strip().casefold() in ("", "student"):
                whole = "" if row[first] or row[last] else row[name]
                people.append(Person(ids, row[first], row[last], whole))
        return people

    def release(self, grade_export: GradeExport) -> bytes:
        """An autograder's zip that gives each submission its results."""
        results_by_place: dict[str, tuple[dict[str, Any], str]] = {}
        for student, record, page in grade_export.find_pages():
            points = grade_export.points_of(student)
            place = f"results/{record.back['submission']}.json"
            if points is None:
                grade_export.record_omission(student, "", "left out: there is no grade for this student")
                continue
            results = _make_results(points, grade_export.scores[student].values(), page.read_text(encoding="utf-8"))
            before, owner = results_by_place.setdefault(place, (results, student))
            if _group_scores(before) != _group_scores(results):
                grade_export.record_omission(
                    student, "", f"left out: handed in together with {owner}, who has different points"
                )
                continue
            grade_export.record_change(student, f"{points:g}")
        grade_export.report.notes.append(
            "upload it as this assignment's autograder, then choose “Regrade All Submissions”"
        )
        files = {place: json.dumps(results).encode() for place, (results, _) in results_by_place.items()}
        programs = {"setup.sh": SETUP.encode(), "run_autograder": RUN.encode()}
        return zip_files(programs | files, programs=tuple(programs))
