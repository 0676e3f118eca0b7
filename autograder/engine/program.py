"""The student's notebook is the program: it is run as it was handed in, cell by cell, and looked at where its checks stand.

What does not run is ours, has not been changed, and merely shows something; and a demonstration of ours does run where the student's code uses a
name that it defines. A cell of ours is known by its name, its id or, where both were lost, its text. Of several cells with one name none is thrown
away: each runs where it stands. A cell of ours that was deleted is put back, so that the graded notebook has a place for each score.
"""

from __future__ import annotations

import platform
import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

from autograder.engine.released_notebook import OWN_ID, Cell, Kind, squeeze, squeeze_ours, template, which
from autograder.engine.submitted_notebook import SubmittedCell, SubmittedNotebook, Unreadable, parse
from autograder.jail.limits import Limits
from autograder.paths import release
from ffnlab.phrases import join_words

if TYPE_CHECKING:  # brings IPython, which a conductor does without
    from autograder.engine.names import Names

NEWER_PYTHON = "written with Python"  # how it begins that a submission was
MIN_COMMENT_WORDS, MIN_STRING_WORDS = 5, 8  # beside code, of what may be the answer to a question
DEFINED = re.compile(
    r"^(?:(?:async[ \t]+)?def|class)[ \t]+(?P<made>\w+)|^(?P<given>\w+)[ \t]*(?::[^=\n]+)?=(?!=)", re.MULTILINE
)
COMMENT = re.compile(r"(?:^|\s)#+(?P<words>.*)$", re.MULTILINE)
COMMENT_LINE = re.compile(r"^[ \t]*#.*$", re.MULTILINE)
STRING = re.compile(r"""\"{3}.*?\"{3}|'{3}.*?'{3}|"[^"\n]*"|'[^'\n]*'""", re.DOTALL)
WORD = re.compile(r"[^\W\d_]{2,}")


@dataclass(frozen=True)
class Program:
    """A submission as it will run."""

    cells: tuple[Cell, ...]
    remarks: tuple[str, ...] = ()  # for its page
    python: str = ""  # the version that its kernel had; empty where it does not say


def plan(assignment: str, data: bytes, limits: Limits) -> Program:
    """What runs of a submission of `assignment`, and in which order.

    Raises:
        Unreadable: it is too large, not JSON, not a notebook, or another notebook of the course.
    """
    notebook = parse(data, limits)
    owner = which(notebook.cells)
    if owner not in ("", assignment):
        raise Unreadable(f"this is the notebook {owner}, handed in as {assignment}")
    return _Plan(assignment, notebook).build()


def is_untouched(assignment: str, notebook: SubmittedNotebook) -> bool:
    """Whether a submission holds nothing but what was handed out: no answer, no code and no words of the student's own."""
    ours = template(release(assignment))
    for cell, original in zip(notebook.cells, _match(notebook.cells, ours), strict=True):
        if not cell.source.strip() or (original and original.kind is Kind.DISPLAY and not original.is_locked):
            continue
        if original is None or squeeze(cell.source) != squeeze_ours(original.source):
            return False
    return True


def runs(cell: Cell) -> bool:
    """Whether a cell runs whatever else is in the notebook; a demonstration that others need is not known here (see `needed_demonstrations`)."""
    if cell.kind is Kind.OURS:
        return True
    if cell.missing or cell.cell_type != "code" or cell.is_superseded:
        return False
    if cell.kind in (Kind.SOLUTION, Kind.EXTRA):
        return True
    if cell.kind is Kind.MANUAL:
        return not cell.untouched
    return not cell.has_our_code


def needed_demonstrations(cells: Sequence[Cell], names: Mapping[str, Names]) -> set[str]:
    """The ids of those demonstrations of ours that define a name which the student's code uses, as in their own kernel.

    names: of the cells with code, by id. A name comes from the nearest cell before that defines it or, as a function may be called later, after.
    """
    code_cells = [cell for cell in cells if cell.id in names]
    demonstrations = {
        cell.id for cell in code_cells if cell.kind is Kind.DISPLAY and not runs(cell) and not cell.missing
    }
    definers: dict[str, list[int]] = defaultdict(list)
    for number, cell in enumerate(code_cells):
        for name in names[cell.id].defines:
            definers[name].append(number)
    needed: set[str] = set()
    pending = [number for number, cell in enumerate(code_cells) if cell.id not in demonstrations]
    while pending:
        user = pending.pop()
        for name in names[code_cells[user].id].uses & definers.keys():
            places = definers[name]
            here = bisect_left(places, user)
            behind = here + (places[here : here + 1] == [user])
            source = places[here - 1] if here else places[behind] if behind < len(places) else user
            demonstration = code_cells[source].id
            if demonstration in demonstrations and demonstration not in needed:
                needed.add(demonstration)
                pending.append(source)
    return needed


# What a cell may take from others without naming it: names as texts, IPython's own ways; where it has run itself, also the state of random numbers.
UNSEEN = re.compile(
    r"(?<![.\w])(?:globals|locals|vars|dir|eval|exec)\s*[(),]|\b(?:get_ipython|user_ns|__main__|__dict__)\b"
    r"|\bsys\.modules\b|\b(?:inspect|gc)\.|\b(?:In|Out)\[|^\s*[!%]|=\s*[!%]",
    re.MULTILINE,
)
RANDOM = re.compile(r"rand|seed|shuffle|perm|multinomial|normal|uniform|bernoulli|[Dd]ropout")


def may_depend_on_others(
    suspects: Iterable[Cell], cells: Sequence[Cell], names: Mapping[str, Names], failed: Collection[str]
) -> bool:
    """Whether what one of these cells does may depend on what has run before it, besides the course's imports and other answers: on a name that a
    demonstration or another cell of the student's gives, or in a way that nobody sees. failed: the ids of those that have ended in an error themselves, and
    not only their function.
    """
    answers = {cell.name for cell in cells if cell.kind is Kind.SOLUTION}
    with_names = [cell for cell in cells if cell.id in names]
    known = {name for cell in with_names for name in names[cell.id].defines}
    givers = Counter(
        name for cell in with_names if cell.kind is not Kind.OURS for name in names[cell.id].defines - answers
    )
    hides = any(UNSEEN.search(cell.source) for cell in with_names if not cell.has_our_code)

    def may_depend(cell: Cell) -> bool:
        if cell.id not in names or UNSEEN.search(cell.source) or (cell.id in failed and RANDOM.search(cell.source)):
            return True
        own = names[cell.id].defines
        if any(givers[name] > (name in own) for name in names[cell.id].uses):
            return True
        return hides and not names[cell.id].uses <= known  # another cell may give it in a way that nobody sees

    return any(map(may_depend, suspects))


class CellWithAnswers(Protocol):
    """A cell with what a student wrote in it, here or as the gradebook has kept it."""

    @property
    def kind(self) -> Kind: ...

    @property
    def name(self) -> str: ...

    @property
    def source(self) -> str: ...

    @property
    def answers(self) -> Sequence[str]: ...

    @property
    def is_word(self) -> bool: ...

    @property
    def has_words_elsewhere(self) -> bool: ...


def answer_source(cells: Sequence[CellWithAnswers], name: str) -> str:
    """All that a student has written as the answer to an exercise or a question, in the order of their notebook; empty where that is nothing."""
    own = next((cell for cell in cells if cell.name == name and cell.kind in (Kind.SOLUTION, Kind.MANUAL)), None)
    parts = [cell for cell in cells if name in cell.answers]
    if own and own.has_words_elsewhere:
        parts = [cell for cell in cells if cell.is_word]
    return "\n\n".join(cell.source.strip("\n") for cell in parts)


class _Plan:
    """One submission on its way to being a program."""

    def __init__(self, assignment: str, notebook: SubmittedNotebook) -> None:
        self.ours = template(release(assignment))
        self.notebook, self.submitted = notebook, notebook.cells
        self.matches = _match(self.submitted, self.ours)
        self.exercises = {cell.name: cell for cell in self.ours if cell.kind is Kind.SOLUTION}
        names = [re.escape(cell.name) for cell in self.ours if cell.kind is Kind.MANUAL]
        self.questions = re.compile(rf"\b(?:{'|'.join(names)})\b" if names else "(?!)")
        self.stubs = {_code(stub.source): name for name, stub in self.exercises.items()}
        self.claims: dict[str, list[int]] = defaultdict(list)  # by the id of a cell of ours: which cells are it
        for place, original in enumerate(self.matches):
            if original and not _is_put_away(self.submitted[place], original):
                self.claims[original.id].append(place)
        self.answers = self._find_answers()
        self.remarks: list[str] = []

    def build(self) -> Program:
        chosen = {our.id: place for our in self.ours if (place := self._choose(our)) is not None}
        owners = {place: our for our in self.ours if (place := chosen.get(our.id)) is not None}
        cells = [self._cell(place, owners.get(place)) for place in range(len(self.submitted))]
        program = _put_back(self.ours, [cell for cell in cells if cell is not None])
        program = self._with_questions(self._with_stubs(program))
        self._remark(program)
        return Program(tuple(program), tuple(self.remarks), self.notebook.python)

    def _find_answers(self) -> list[tuple[str, ...]]:
        """What each submitted cell answers. An answer that is no code, by a slip of the finger, is one only where there is no other: somebody may have
        put it away like this.
        """
        answers = [self._answers(place) for place in range(len(self.submitted))]
        in_code = {
            name for place, names in enumerate(answers) for name in names if self.submitted[place].cell_type == "code"
        }
        stubs = {place: self._stub(place) for place in range(len(self.submitted))}
        elsewhere = {name for place, names in enumerate(answers) for name in names if name != stubs[place]}
        for place, names in enumerate(answers):
            if self.submitted[place].cell_type != "code":
                answers[place] = tuple(name for name in names if name not in in_code & self.exercises.keys())
            elif stubs[place] in elsewhere:  # a stub with a remark in it is no answer where there is one
                answers[place] = tuple(name for name in names if name != stubs[place])
        return answers

    def _stub(self, place: int) -> str:
        """Of which exercise a submitted cell is the stub, whatever comments are in it; empty where it is none."""
        cell = self.submitted[place]
        return self.stubs.get(_code(cell.source), "") if cell.cell_type == "code" else ""

    def _answers(self, place: int) -> tuple[str, ...]:
        """What a submitted cell answers: the exercise or question whose cell it is, if something is written there, and what it defines."""
        cell, original = self.submitted[place], self.matches[place]
        if not cell.source.strip() or (original and squeeze(cell.source) == squeeze_ours(original.source)):
            return ()
        own = (original.name,) if original and original.kind in (Kind.SOLUTION, Kind.MANUAL) else ()
        defined = _defined(cell.source) & self.exercises.keys() if cell.cell_type == "code" else set()
        stubs = {name for name in defined if squeeze(self.exercises[name].source) == squeeze(cell.source)}
        return tuple(dict.fromkeys((*own, *sorted(defined - stubs))))

    def _choose(self, our: Cell) -> int | None:
        """The place of the submitted cell that stands for a cell of ours."""
        if our.kind is Kind.SOLUTION:
            return self._choose_answer(our)
        claims = self.claims[our.id]
        if our.kind is Kind.MANUAL:
            written = [place for place in claims if self.answers[place]]
            if len(written) > 1:
                self.remarks.append(f"{our.name} has {len(written)} texts, and a person reads all of them")
            claims = written or claims
        return claims[-1] if claims else None

    def _choose_answer(self, our: Cell) -> int | None:
        """Of several answers to an exercise the last before its check, in the exercise's own cells or else in the student's."""
        claims = self.claims[our.id]
        written = [place for place in claims if self.answers[place]] or [
            place for place, original in enumerate(self.matches) if original is None and our.name in self.answers[place]
        ]
        if not written:  # what was put away as text, while another cell has the answer, is none
            in_code = [place for place in claims if self.submitted[place].cell_type == "code"]
            return in_code[-1] if in_code else None
        checks = [
            place
            for place, match in enumerate(self.matches)
            if match and match.kind is Kind.CHECK and match.name == our.name
        ]
        end = max(checks, default=len(self.submitted))
        chosen = ([place for place in written if place < end] or written)[-1]
        if len(claims) > 1 and chosen in claims:
            number = _ordinal(claims.index(chosen) + 1)
            self.remarks.append(
                f"{our.name} has {len(claims)} cells, and the {number} counts: the last before its check with an answer in it"
            )
        return chosen

    def _cell(self, place: int, our: Cell | None) -> Cell | None:
        """A submitted cell as it will run. our: the cell of ours for which it stands. None: it is empty, and nobody's."""
        cell, original = self.submitted[place], self.matches[place]
        written = "code" if cell.cell_type == "code" else "markdown"
        untouched = original is not None and squeeze(cell.source) == squeeze_ours(original.source)
        same_code = untouched or (
            original is not None and original.cell_type == "code" and _code(cell.source) == _code(original.source)
        )
        is_word = self._has_words(place)
        if our is not None:
            is_answer = our.kind in (Kind.SOLUTION, Kind.MANUAL)
            # An answer that became Markdown by a slip of the finger is code all the same.
            is_as_submitted = our.kind is Kind.MANUAL or (our.cell_type != "code" and not untouched)
            return replace(
                our,
                cell_type=written if is_as_submitted else our.cell_type,
                source=cell.source,
                untouched=(not self.answers[place]) if is_answer else untouched,
                has_our_code=same_code,
                answers=self.answers[place],
                is_word=is_word,
            )
        if not cell.source.strip() or (untouched and _is_put_away(cell, original)):
            return None
        name = f"{OWN_ID}{place}"
        is_copy = original is not None and original.kind in (Kind.CHECK, Kind.DISPLAY)
        if original and is_copy and same_code and written == original.cell_type:
            return replace(
                original,
                source=cell.source,
                metadata={},
                id=name,
                untouched=untouched,
                has_our_code=True,
                is_word=is_word,
            )
        return Cell(
            Kind.EXTRA,
            name,
            "raw" if cell.cell_type == "raw" else written,
            cell.source,
            {},
            name,
            untouched=untouched,
            answers=self.answers[place],
            is_word=is_word,
        )

    def _has_words(self, place: int) -> bool:
        """Whether a student's own words are in a cell that is not a question's, so that they may be an answer to one."""
        cell, original = self.submitted[place], self.matches[place]
        if original is None and self.answers[place]:
            original = self.exercises[self.answers[place][-1]]
        if original and original.kind is Kind.MANUAL:
            return False
        before = original.source if original else ""
        if cell.cell_type != "code":
            return bool(WORD.search(_added(before, cell.source)))
        comments = " ".join(_comments(cell.source) - _comments(before))
        words = " ".join((comments, *(text for text in STRING.findall(cell.source) if text not in before)))
        if self.questions.search(words) and len(WORD.findall(words)) >= MIN_COMMENT_WORDS:
            return True  # it names a question
        if original is None or original.kind is not Kind.SOLUTION:
            code = COMMENT_LINE.sub("", cell.source).strip()
            texts = {text for text in STRING.findall(cell.source) if text not in before}
            is_text = any(text == code or len(WORD.findall(text)) >= MIN_STRING_WORDS for text in texts)
            return is_text or len(WORD.findall(comments)) >= (MIN_COMMENT_WORDS if code else 1)
        if _code(cell.source) == _code(before):
            return bool(WORD.search(comments))
        return self._is_beside_a_question(place) and len(WORD.findall(comments)) >= MIN_COMMENT_WORDS

    def _is_beside_a_question(self, place: int) -> bool:
        """Whether no other answer stands between this one and a question."""
        for step in (-1, 1):
            other = place + step
            while 0 <= other < len(self.matches):
                original = self.matches[other]
                if original and original.kind is Kind.MANUAL:
                    return True
                if self.answers[other] or (original and original.kind is Kind.SOLUTION):
                    break
                other += step
        return False

    def _with_stubs(self, cells: list[Cell]) -> list[Cell]:
        """The cells, in which a stub takes nothing away from an answer above it."""
        answered: set[str] = set()
        result = []
        for cell in cells:
            is_stub = not cell.answers and cell.kind in (Kind.SOLUTION, Kind.EXTRA)
            result.append(replace(cell, is_superseded=is_stub and self.stubs.get(_code(cell.source)) in answered))
            answered.update(cell.answers)
        return result

    def _with_questions(self, cells: list[Cell]) -> list[Cell]:
        """The cells, in which a question that is empty is to be read where own words stand elsewhere."""
        has_words = any(cell.is_word for cell in cells)
        return [
            replace(cell, has_words_elsewhere=True)
            if cell.kind is Kind.MANUAL and cell.untouched and has_words and cell.metadata
            else cell
            for cell in cells
        ]

    def _remark(self, cells: Sequence[Cell]) -> None:
        """What the page says about the file."""
        answered = {name for cell in cells for name in cell.answers}
        questions = [cell.name for cell in cells if cell.has_words_elsewhere]
        if questions:
            are = "is" if len(questions) == 1 else "are"
            self.remarks.append(
                f"{join_words(questions)} {are} empty, but there are own words in other cells, and a person reads them"
            )
        changed = [cell for cell in cells if cell.is_locked and not cell.untouched and not cell.missing]
        if changed:
            self.remarks.append(
                f"changed cells of the course: {', '.join(cell.metadata['nbgrader']['grade_id'] for cell in changed)}. "
                "Code that was added there has run, and words are shown"
            )
        deleted = [
            cell.name for cell in cells if cell.kind is Kind.SOLUTION and cell.missing and cell.name not in answered
        ]
        if deleted:
            self.remarks.append(f"deleted: {', '.join(deleted)}")
        if newer := newer_python(self.notebook.python):
            self.remarks.append(newer)


def newer_python(version: str) -> str:
    """What is to be said of a notebook that was written with this version of Python, where that is newer than the one here; else nothing."""
    here = platform.python_version_tuple()[:2]
    if not version or tuple(map(int, version.split(".")[:2])) <= tuple(map(int, here)):
        return ""
    return f"{NEWER_PYTHON} {version}, and graded with Python {'.'.join(here)}, which may not know all of its syntax"


def _match(cells: Sequence[SubmittedCell], ours: Sequence[Cell]) -> list[Cell | None]:
    """The cell of ours that each submitted cell is: by its name or its id or, where neither is known, by its text."""
    by_name = {cell.metadata["nbgrader"]["grade_id"]: cell for cell in ours if "nbgrader" in cell.metadata}
    by_id = {cell.id: cell for cell in ours}
    matches = [by_name.get(cell.grade_id) or by_id.get(cell.id) for cell in cells]
    known = {original.id for original in matches if original}
    unknown: dict[str, list[Cell]] = defaultdict(list)
    for our in ours:
        if our.id not in known:
            unknown[squeeze_ours(our.source)].append(our)
    for place, cell in enumerate(cells):
        if matches[place] is None and unknown.get(text := squeeze(cell.source)):
            matches[place] = unknown[text].pop(0)
    return matches


def _is_put_away(cell: SubmittedCell, original: Cell | None) -> bool:
    """Whether a cell of ours with code has become text, so that it is not there any more."""
    is_ours = original is not None and original.kind in (Kind.OURS, Kind.DISPLAY, Kind.CHECK)
    return is_ours and original is not None and original.cell_type == "code" and cell.cell_type != "code"


def _put_back(ours: Sequence[Cell], cells: Sequence[Cell]) -> list[Cell]:
    """The cells with those of ours that are missing: imports first, the others behind the cell of ours that stood before them."""
    result = list(cells)
    front, anchor = 0, ""
    present = {cell.id for cell in cells}
    for our in ours:
        if our.id in present:
            anchor = our.id
            continue
        blank = replace(our, missing=True)
        if our.kind is Kind.OURS:
            result.insert(front, blank)
            front += 1
        else:
            place = next((number for number, cell in enumerate(result) if cell.id == anchor), front - 1)
            result.insert(place + 1, blank)
            anchor = our.id
    return result


def _defined(source: str) -> set[str]:
    """The names that a cell's text gives values to, at the beginning of a line."""
    return {match["made"] or match["given"] for match in DEFINED.finditer(source)}


def _code(source: str) -> str:
    """A cell's code without its comment lines and without the amount of white space."""
    return squeeze(COMMENT_LINE.sub("", source))


def _comments(source: str) -> set[str]:
    return {match["words"].strip() for match in COMMENT.finditer(source)}


def _added(before: str, after: str) -> str:
    """The words that a text has more often than another."""
    return " ".join((Counter(after.split()) - Counter(before.split())).elements())


def _ordinal(number: int) -> str:
    return f"{number}{'th' if 10 <= number % 100 <= 20 else {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th')}"
