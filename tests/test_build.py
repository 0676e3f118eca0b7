"""The build: what students get is made from what authors write, holds no answers, and a wrong solution turns the run red."""

from __future__ import annotations

import ast
import gzip
import json
import re
import shutil
import subprocess
import sys
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import nbformat
import pytest
from conftest import often
from typer.testing import CliRunner

from autograder import cli, keys, outline, paths, source_hash
from autograder.authoring import build, frames, minutes, size, stability, stills
from autograder.authoring.handout import LANGUAGE_MODELS, handout
from autograder.errors import UserError
from ffnlab import boards
from ffnlab.boards import Board
from ffnlab.checking import reference_files
from ffnlab.course.boards.catalogue import BOARDS
from ffnlab.course.figures import anatomy
from ffnlab.course.language_models import USUAL, language_models
from ffnlab.diagnosis.recognition import is_quiz
from ffnlab.observation.exercise import Exercise
from ffnlab.registry import Course, active_course

ROOT = Path(__file__).resolve().parent.parent
NAMES = paths.assignments()


def shipped_text() -> dict[str, str]:
    """Every text file of course/ as a student gets it."""
    suffixes = {".py", ".ipynb", ".md", ".toml", ".txt", ".json"}
    return {
        str(path.relative_to(ROOT)): path.read_text(encoding="utf-8")
        for path in sorted((ROOT / "course").rglob("*"))
        if path.suffix in suffixes and not {".venv", ".ipynb_checkpoints", "build"} & set(path.parts)
    }


@pytest.mark.parametrize("name", NAMES)
def test_the_generated_notebooks_equal_their_source(name: str) -> None:
    fresh = build.notebook_of(name)
    solution = nbformat.read(paths.solution(name), as_version=4)
    assert [(c.id, c.cell_type, c.source, c.metadata) for c in solution.cells] == [
        (c.id, c.cell_type, c.source, c.metadata) for c in fresh.cells
    ], f"solutions/{name}.py has changed: run `make build`"
    student = nbformat.read(paths.release(name), as_version=4)
    again = build.student_notebook(name)
    assert [(c.id, c.cell_type, c.source) for c in student.cells] == [
        (c.id, c.cell_type, c.source) for c in again.cells
    ], f"course/{name} is older than its source: run `make build`"


@pytest.mark.parametrize("name", NAMES)
def test_answers_are_shipped_for_every_exercise_and_no_other(name: str) -> None:
    assert set(reference_files.read(active_course().reference_file(name).read_bytes())) == {
        e.name for e in active_course().exercises_of(name)
    }


@pytest.mark.parametrize("name", NAMES)
def test_points_in_notebooks_equal_those_of_the_exercises(name: str) -> None:
    notebook = nbformat.read(paths.release(name), as_version=4)
    check_metadata = [c.metadata.nbgrader for c in notebook.cells if c.metadata.get("nbgrader", {}).get("grade")]
    points = {g.grade_id.removeprefix("check-"): g.points for g in check_metadata if not g.solution}
    assert points == {e.name: e.points for e in active_course().exercises_of(name)}


@pytest.mark.parametrize("name", NAMES)
def test_every_exercise_has_its_cell_and_its_check(name: str) -> None:
    notebook = nbformat.read(paths.release(name), as_version=4)
    cells = {c.metadata.get("nbgrader", {}).get("grade_id"): c for c in notebook.cells}
    for exercise in active_course().exercises_of(name):
        assert "# YOUR CODE HERE" in cells[exercise.name].source
        check = cells[f"check-{exercise.name}"].source
        assert re.fullmatch(rf'(check|quiz)\("{exercise.name}", {exercise.name}\)', check.strip())


@pytest.mark.parametrize("name", NAMES)
def test_a_title_says_how_often_to_press_until_the_board_wakes(name: str) -> None:
    """One press for each cell, from the title to the board."""
    cells = nbformat.read(paths.release(name), as_version=4).cells
    said = re.search(r"press <b>Shift \+ Enter</b> (once|twice|\w+ times)", cells[0].source)
    if not said:
        assert "Shift + Enter" not in cells[0].source
        return
    presses = {"once": 1, "twice": 2, "three times": 3, "four times": 4, "five times": 5}[said[1]]
    boards_at = [n for n, cell in enumerate(cells, 1) if re.search(r"^play\(", cell.source, re.M)]
    assert presses == boards_at[0]


def test_no_answer_no_hidden_test_and_no_key_reaches_the_students_folder() -> None:
    for name, text in shipped_text().items():
        for word in ("BEGIN SOLUTION", "BEGIN HIDDEN TESTS", "recheck", "from autograder", "import autograder"):
            assert word not in text, f"{name} contains {word!r}"


@pytest.mark.parametrize("name", NAMES)
def test_no_line_of_a_solution_stands_in_the_students_folder(name: str) -> None:
    text = "\n".join(shipped_text().values())
    for key in keys.of_notebook(name):
        source = build.solution_answer(key.exercise.name).source
        long = [line.strip() for line in source.splitlines() if len(line.strip()) > 30]
        student = nbformat.read(paths.release(name), as_version=4)
        stub = next(
            c.source for c in student.cells if c.metadata.get("nbgrader", {}).get("grade_id") == key.exercise.name
        )
        for line in long:
            assert line in stub or line not in text, f"{key.exercise.name}: {line!r}"


@pytest.mark.parametrize("name", NAMES)
def test_no_output_names_a_path_of_a_machine(name: str) -> None:
    text = paths.solution(name).read_text(encoding="utf-8")
    assert not re.search(r"/(home|root|tmp|work|Users)/[\w.]", text)


@pytest.mark.parametrize("name", NAMES)
def test_students_notebooks_have_no_outputs(name: str) -> None:
    notebook = nbformat.read(paths.release(name), as_version=4)
    assert not any(c.get("outputs") for c in notebook.cells)


@pytest.mark.parametrize("name", NAMES)
def test_every_figure_of_a_solution_shows_without_a_kernel(name: str) -> None:
    notebook = nbformat.read(paths.solution(name), as_version=4)
    figure_cells = [c for c in notebook.cells if c.cell_type == "code" and "controls.show(" in c.source]
    for cell in figure_cells:
        kinds = {kind for output in cell.outputs for kind in output.get("data", {})}
        stills = [
            html for output in cell.outputs if "ffn-still" in (html := output.get("data", {}).get("text/html", ""))
        ]
        assert stills and all("<img src" in still for still in stills), cell.source
        assert build.WIDGET not in kinds and not any("data-still" in still for still in stills)


@pytest.mark.parametrize("name", often(NAMES, ["00_start_here", "01_attention", "05_parameters"]))
def test_building_again_changes_no_byte(name: str) -> None:
    """On an idle machine or a busy one: the others' tests run beside this one."""
    notebook, pictures = build.execute(name)
    assert nbformat.writes(notebook) + "\n" == paths.solution(name).read_text(encoding="utf-8")
    assert nbformat.writes(build.student_notebook(name)) + "\n" == paths.release(name).read_text(encoding="utf-8")
    folder = active_course().frames_folder / name
    drawn = {file: data for file, data in pictures.items() if not file.endswith(frames.FROM)}
    assert {file: gzip.decompress(data) for file, data in drawn.items()} == {
        file.name: gzip.decompress(file.read_bytes()) for file in folder.glob("*.gz")
    }
    source_hashes = frames.read_source_hashes()
    assert all(pictures[file + frames.FROM].decode() == source_hashes[file] for file in drawn)


def test_a_planted_wrong_solution_turns_the_build_red(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for part in ("solutions", "course"):
        (tmp_path / part).mkdir()
    shutil.copy(ROOT / "nbgrader_config.py", tmp_path)
    source = paths.source("00_start_here").read_text(encoding="utf-8")
    wrong = re.sub(r"(### BEGIN SOLUTION\n)(\s*)[^\n]+\n", r"\1\2return 1, 2, 3\n", source, count=1)
    assert wrong != source
    (tmp_path / "solutions" / "00_start_here.py").write_text(wrong, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match=r"00_start_here\.py fails: NotEarned: hello_shape"):
        build.execute("00_start_here")


@pytest.mark.parametrize("name", active_course().notebooks)
def test_what_graders_know_of_exercises_is_what_these_are(name: str) -> None:
    assert outline.built_from(name) == build.hash_reference_outputs(name), (
        "run `make build`: the answers are those of another key"
    )
    assert not outline.write(name, outline.built_from(name)), "run `make build`"
    for entry, exercise in zip(outline.of_notebook(name), active_course().exercises_of(name), strict=True):
        assert (entry.name, entry.points, entry.cases) == (exercise.name, exercise.points, exercise.cases)
        assert [part.name for part in entry.aspects] == [aspect.name for aspect in exercise.aspects]


def test_exercises_that_have_changed_are_looked_at_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outline, "version", lambda notebook: "another")
    monkeypatch.setattr(Course, "exercises_of", lambda self, notebook: [Exercise("new", cases=3)])
    outline.of_notebook.cache_clear()
    assert [(exercise.name, exercise.cases) for exercise in outline.of_notebook("00_start_here")] == [("new", 3)]
    outline.of_notebook.cache_clear()


def test_a_build_with_nothing_changed_makes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(assignment: str) -> Any:
        raise AssertionError(f"{assignment} was executed again")

    monkeypatch.setattr(build, "execute", never)
    for name in NAMES:
        assert build.build(name) is False


LOADED = """
import json, os, sys
import matplotlib.pyplot, torch  # which all notebooks import
for name, imports in json.load(sys.stdin).items():
    if not os.fork():  # a process for each, as nothing of ours is imported yet
        exec(compile(imports, name, "exec"))
        print(json.dumps([name, [module.__file__ for name, module in sys.modules.items() if name.startswith("ffnlab.")]]), flush=True)
        os._exit(0)
    assert os.wait()[1] == 0, name
"""


@pytest.fixture(scope="module")
def loaded_by() -> dict[str, set[Path]]:
    """The files of ours that the imports of a notebook load, by notebook."""
    imports = {}
    for name in ("06_memory", "07_gated", "10_capstone"):
        code = "\n".join(cell.source for cell in build.notebook_of(name).cells if cell.cell_type == "code")
        statements = [ast.unparse(node) for node in ast.walk(ast.parse(code)) if isinstance(node, ast.ImportFrom)]
        imports[name] = "\n".join(statements)
    command = [sys.executable, "-c", LOADED]
    output = subprocess.run(command, input=json.dumps(imports), capture_output=True, text=True, check=True).stdout
    return {name: {Path(file) for file in files} for name, files in map(json.loads, output.splitlines())}


@pytest.mark.parametrize("name", ["06_memory", "07_gated", "10_capstone"])
def test_a_notebook_is_made_again_where_a_module_that_it_loads_changes(
    name: str, loaded_by: dict[str, set[Path]]
) -> None:
    own = {
        file
        for file in loaded_by[name]
        if file.name not in ("__init__.py", "ffn_probes.py") and file.parent.name != "exercises"
    }
    # The rest belongs to all notebooks' exercises.
    assert len(own) > 10 and own <= source_hash.files(paths.source(name))


def test_a_version_is_that_of_all_files_and_of_no_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    versions: list[str] = []
    for folder in (tmp_path / "one", tmp_path / "two", tmp_path / "three"):
        (folder / "course" / "figures").mkdir(parents=True)
        (folder / "start.py").write_text("def late():\n    from ffnlab.course.figures import drawing as figures\n")
        (folder / "course" / "figures" / "drawing.py").write_text(
            "import math\nimport ffnlab.course.atlas\nimport ffnlab.course.figures.drawing\n"
        )
        (folder / "course" / "atlas.py").write_text(f"MODELS = {len(versions) // 2}\n")
        (folder / "other.py").write_text("")
        (folder / "course" / "atlas.json").write_text("{}")
        monkeypatch.setitem(source_hash.PACKAGES, "ffnlab", folder)
        file_names = {str(file.relative_to(folder)) for file in source_hash.files(folder / "start.py")}
        assert file_names == {"start.py", "course/figures/drawing.py", "course/atlas.py", "course/atlas.json"}
        versions.append(source_hash.version(folder / "start.py"))
    assert versions[0] == versions[1] != versions[2]


FORMATTED = """def relu(x):
    \"\"\"No number below zero.\"\"\"
    return x.clamp(min=0)  # of any shape
"""


@pytest.mark.parametrize(
    ("text", "is_same"),
    [
        (FORMATTED, True),
        ('def relu(x):\n  """No number below zero."""\n\n  return (\n    x.clamp(\n      min = 0,\n    )\n  )\n', True),
        (FORMATTED.replace("# of any shape", "# [..., d]"), True),
        (FORMATTED.replace("min=0", "min=0.0"), False),
        (FORMATTED.replace("number", "value"), False),
        (FORMATTED.replace("clamp(min=0)", "clamp(max=0)"), False),
        (FORMATTED.replace("def relu(x)", "def relu(x, y=None)"), False),
    ],
)
def test_formatting_and_comments_make_nothing_out_of_date(text: str, is_same: bool, tmp_path: Path) -> None:
    for name, content in (("old.py", FORMATTED), ("new.py", text)):
        (tmp_path / name).write_text(content, encoding="utf-8")
    old, new = (source_hash.version(tmp_path / name) for name in ("old.py", "new.py"))
    assert (old == new) is is_same


def test_a_version_changes_with_what_a_board_is_made_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    versions: list[str] = []
    changes = {"": "", "wire.js": "// moved", "bend.js": "// moved", "wire.css": "b {}", "stills/wire_long.svg": "<g/>"}
    for number, (changed, more) in enumerate(changes.items()):
        folder = tmp_path / str(number) / "boards"
        (folder / "stills").mkdir(parents=True)
        files = {
            "wire.py": 'from ffnlab.boards import Board\n\nMODULE = "wire.js"\n',
            "wire.js": 'import { bend } from "./bend.js";\n',
            "bend.js": "export const bend = 1;\n",
            "wire.css": "",
            "stills/wire_long.svg": "<svg/>",
            "stills/wires.svg": "<svg/>",
        }
        for name, text in files.items():
            (folder / name).write_text(text + more * (name == changed), encoding="utf-8")
        source_files = source_hash.files(folder / "wire.py")
        assert {*files} - {file.relative_to(folder).as_posix() for file in source_files if folder in file.parents} == {
            "stills/wires.svg"
        }
        assert {"runtime.js", "boards.css"} <= {file.name for file in source_files}
        versions.append(source_hash.version(folder / "wire.py"))
    assert len(set(versions)) == len(changes)


def test_a_notebook_is_made_again_where_any_of_its_boards_changes() -> None:
    sources_of = {name: source_hash.files(paths.source(name)) for name in NAMES}
    boards_of = set()
    for make in BOARDS.values():
        board = make()
        assert board.still
        files = {*boards.scripts(board.module), *boards.sheets(board.module), board.still}
        holders = [name for name, sources in sources_of.items() if {file.resolve() for file in files} <= sources]
        assert holders, board.name
        boards_of |= {*holders}
    assert len(boards_of) > 3


def test_what_grades_are_made_of_does_not_change_with_a_board() -> None:
    for name in NAMES:
        files = source_hash.files(*active_course().key_files(name), active_course().exercises_file(name))
        assert not [file for file in files if file.suffix in (".js", ".css", ".svg")], name


def test_no_still_picture_is_older_than_its_board_and_none_of_the_readme_than_the_product() -> None:
    assert (stills.find_outdated(), stills._outdated_pictures()) == ([], []), "draw them again: autograder stills"
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    made = {
        f"docs/pictures/{picture.file.name}" for picture in stills._pictures() if picture.file.parent == stills.README
    }
    assert made == set(re.findall(r"\((docs/pictures/[^)]+)\)", text)), "each is made from the product"


def test_a_still_is_outdated_once_its_script_sheet_or_data_has_changed(tmp_path: Path) -> None:
    def board(name: str, script: str = "", sheet: str = "", wanted: int = 5) -> Board:
        module = tmp_path / f"{name}.js"  # a file of its own: what was read is kept
        module.write_text(f"export const board = 1;\n{script}", encoding="utf-8")
        module.with_suffix(".css").write_text(sheet, encoding="utf-8")
        return Board(module, "first", "A board.", {"wanted": wanted})

    versions = [
        stills.hash_sources(version)
        for version in (board("a"), board("b", "1 + 1;\n"), board("c", sheet="b {}"), board("d", wanted=6), board("e"))
    ]
    assert versions[0] == versions[4] and len(set(versions)) == 4


def test_a_board_has_the_sheets_of_the_scripts_that_it_imports(tmp_path: Path) -> None:
    module = tmp_path / "own.js"
    module.write_text('import { mark } from "./shared.js";\nexport const board = mark;\n', encoding="utf-8")
    (tmp_path / "shared.js").write_text("export const mark = 1;\n", encoding="utf-8")
    for name in ("own", "shared", "another"):
        (tmp_path / f"{name}.css").write_text(f".{name} {{}}", encoding="utf-8")
    assert [sheet.name for sheet in boards.sheets(module)[1:]] == ["shared.css", "own.css"]


def test_the_parts_handed_out_in_the_capstone_belong_to_its_key_alone() -> None:
    parts = ROOT / "autograder" / "keys" / "parts.py"
    sources_of = {name: source_hash.files(*active_course().key_files(name)) for name in active_course().notebooks}
    assert [name for name in NAMES if parts in sources_of[name]] == ["10_capstone"]


def inside(handout: Path) -> list[str]:
    """What is in a handout's one folder."""
    names = zipfile.ZipFile(handout).namelist()
    (folder,) = {name.split("/")[0] for name in names}
    assert re.fullmatch(r"course-[0-9a-f]{6}", folder)
    return [name.removeprefix(f"{folder}/") for name in names]


def test_a_handout_of_some_notebooks_holds_no_other_and_unpacks_beside_the_whole_one(tmp_path: Path) -> None:
    some, whole = (
        handout(tmp_path / "some.zip", ["00_start_here", "02_feed_forward"]),
        handout(tmp_path / "a.zip"),
    )
    assert {name.split("/")[0] for name in inside(some) if name[:2].isdecimal()} == {"00_start_here", "02_feed_forward"}
    assert not any("03_activations" in name for name in inside(some)) and "ffnlab/course/boards/wire.py" in inside(some)
    folders = [zipfile.ZipFile(archive).namelist()[0].split("/")[0] for archive in (some, whole)]
    assert folders[0] != folders[1]


def test_a_check_has_the_points_that_its_exercise_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    exercise = active_course().exercise("hello_shape")
    monkeypatch.setattr(exercise, "aspects", [replace(aspect, points=3.0) for aspect in exercise.aspects])
    (check,) = [
        c for c in build.notebook_of("00_start_here").cells if c.metadata.nbgrader.grade_id == "check-hello_shape"
    ]
    assert check.metadata.nbgrader.points == 3 * len(exercise.aspects)


@pytest.mark.parametrize(
    ("marker", "message"),
    [
        ("", "the marker of the cell '1 + 1' names no kind, or several; the kinds are: text, question, setup"),
        ('exercize="relu"', "names no kind, or several"),
        ('code="a" figure="b"', "names no kind, or several"),
        ('code="a" outputs="fixed"', "has 'outputs', which a cell of the kind 'code' can't have"),
        ('text="a"', "is of the kind 'text', so it has to be markdown"),
        (
            'exercise="relu"',
            f"exercise='relu' is not among the notebook's exercises in {active_course().exercises_file('00_start_here')}",
        ),
    ],
)
def test_a_marker_that_means_nothing_is_one_clear_line(
    marker: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for part in ("solutions", "course"):
        (tmp_path / part).mkdir()
    (tmp_path / "solutions" / "00_start_here.py").write_text(f"# %% {marker}\n1 + 1\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match=r"^solutions/00_start_here\.py: ") as refused:
        build.notebook_of("00_start_here")
    assert message in str(refused.value)


def test_the_handout_holds_what_a_student_needs_and_is_the_same_each_time(tmp_path: Path) -> None:
    first, second = (handout(tmp_path / f"{n}.zip") for n in "ab")
    assert first.read_bytes() == second.read_bytes()
    names = set(inside(first))
    assert {"start.py", "pyproject.toml", "00_start_here/00_start_here.ipynb"} <= names
    assert "ffnlab/course/answers/02_feed_forward.safetensors" in names
    assert not any("__pycache__" in name or ".progress" in name or "egg-info" in name for name in names)


def test_what_a_class_says_on_language_models_is_in_its_handout_and_shown_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    handout(tmp_path / "a.zip", language_models="**Ask nobody** before Friday.\n")
    with zipfile.ZipFile(tmp_path / "a.zip") as archive:
        archive.extractall(tmp_path)
    (course,) = tmp_path.glob("course-*")
    assert "language_models.md" in (course / "AGENTS.md").read_text(encoding="utf-8")
    assert not any(name.endswith("language_models.md") for name in inside(handout(tmp_path / "b.zip")))
    monkeypatch.chdir(course / "00_start_here")
    assert language_models().data == "**Ask nobody** before Friday."
    (course / LANGUAGE_MODELS).unlink()
    assert language_models().data == USUAL


def test_an_unknown_notebook_is_one_clear_line() -> None:
    with pytest.raises(UserError, match="not a notebook"):
        build.notebook_of("99_nothing")


def test_generated_notebooks_say_that_they_are_generated() -> None:
    for name in NAMES:
        notebook = json.loads(paths.release(name).read_text(encoding="utf-8"))
        assert notebook["metadata"]["ffnlab"]["generated"].startswith("from solutions/")


def test_the_title_of_a_fold_is_html() -> None:
    """Markdown is not read there, so its marks would stand on the page."""
    sources = "".join(paths.source(name).read_text(encoding="utf-8") for name in NAMES)
    titles = re.findall(r"<summary>(.*?)</summary>", sources)
    assert titles, "nothing is folded"
    assert not [title for title in titles if re.search(r"[*`_$]", re.sub(r"<[^>]*>", "", title))]


def text_of(name: str) -> str:
    """What the text cells of a student's notebook say."""
    cells = nbformat.read(paths.release(name), as_version=4).cells
    return "\n".join(cell.source for cell in cells if cell.cell_type == "markdown")


@pytest.mark.parametrize("name", NAMES)
def test_a_header_says_the_minutes_and_the_points_that_are_counted(name: str) -> None:
    text = text_of(name)
    time = re.search(r"\| \*\*Time\*\* \| (\d+) minutes on the core path[^;|]*; (\d+) more\b", text)
    assert time and (int(time[1]), int(time[2])) == minutes.round_minutes(size.estimate(name))
    code = re.search(r"\| \*\*Points\*\* \| (\d+) for code", text)
    exercises = active_course().exercises_of(name)
    assert code and int(code[1]) == sum(exercise.points for exercise in exercises if not is_quiz(exercise))
    for exercise in exercises:
        line = re.search(rf"^### Exercise `{exercise.name}`\n\n\*(\d+) points?\b", text, re.M)
        assert (int(line[1]) if line else 0) == (0 if is_quiz(exercise) else exercise.points), exercise.name
    assert not re.search(r"\{(?:points|minutes|more)\}", text)


def test_the_map_and_the_readme_say_what_the_notebooks_say() -> None:
    titles = [re.search(r"^# \d\d · (.+)$", text_of(name), re.M) for name in NAMES]
    assert tuple(title[1] for title in titles if title) == anatomy.TITLES
    estimates = [minutes.round_minutes(size.estimate(name)) for name in NAMES]
    hours = [round(sum(column) / 60) for column in zip(*estimates, strict=True)]
    assert hours == [8, 10]
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "takes about eight hours, and the parts marked *deeper* about ten more" in readme


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("*{points} · difficulty", "*4 points · difficulty", "the line of catch_mistakes has to say {points} once"),
        ("*{points} · difficulty", "*difficulty · 4 points", "the line of catch_mistakes has to say {points} once"),
        ("*{points} · difficulty", "*{point} · difficulty", "the line of catch_mistakes has to say {points} once"),
        ("*{points} · difficulty", "*{points} · {minutes} · difficulty", "has to say {points} once"),
        ("*{points} · difficulty", "*difficulty", "the line of catch_mistakes has to say {points} once"),
        ("difficulty ●○○ · 3 minutes*", "difficulty ●○○*", "the line of ffn_forward has to end in “· N minutes*”"),
        ("| **Points** | {points}", "| **Points** | 31 for code", "the row has to say {points}"),
        ("| **Time** | {minutes} minutes", "| **Time** | 60 minutes", "the row has to say {minutes} and {more}"),
        ("| **Time** | {minutes} minutes", "| **Time** | {minute} minutes", "the row has to say {minutes} and {more}"),
        ("After attention has mixed", "For {points}, after attention has mixed", "{points} means nothing in"),
        ("After attention has mixed", "In {minutes} minutes attention has mixed", "{minutes} means nothing in"),
        ("### Exercise `ffn_forward`", "### Exercise `fnn_forward`", "fnn_forward is none of the notebook's exercises"),
        ("*question M2 · {points}", "*question M3 · {points}", "M3 is none of"),
    ],
)
def test_a_number_that_the_build_knows_is_typed_nowhere(
    old: str, new: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = paths.source("02_feed_forward").read_text(encoding="utf-8")
    assert old in text
    changed = tmp_path / "02_feed_forward.py"
    changed.write_text(text.replace(old, new, 1), encoding="utf-8")
    monkeypatch.setattr(build, "source", lambda assignment: changed)
    with pytest.raises(UserError) as error:
        build.notebook_of("02_feed_forward")
    assert said in str(error.value) and "\n" not in str(error.value)


def test_a_closed_cell_says_what_it_shows() -> None:
    """Its first line is all that JupyterLab shows of it."""
    first = {name: source.partition("\n")[0] for name, source in build.cells_of("00_start_here").items()}
    assert first["imports"] == "# what this notebook imports"
    assert first["creek"] == "# a board" and first["creek-after"] == "# a text that opens later"
    assert first["predict-right-without-ffn"] == "# a guess" and first["added"] == "# a figure"
    assert first["progress"] == "# shown below" and first["shapes"].startswith("x = ")


def test_braces_in_a_formula_and_in_code_are_no_fields(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    formula = r"$\\frac{more}{points}$ and `f\"{minutes}\"`"
    text = paths.source("02_feed_forward").read_text(encoding="utf-8")
    changed = tmp_path / "02_feed_forward.py"
    changed.write_text(text.replace("After attention has mixed", f"After {formula}", 1), encoding="utf-8")
    monkeypatch.setattr(build, "source", lambda assignment: changed)
    assert any(formula in cell.source for cell in build.notebook_of("02_feed_forward").cells)


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_keeps_its_budget(name: str) -> None:
    assert size.beyond(size.measure(name)) == []


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_ends_in_its_ideas(name: str) -> None:
    """A reader is asked for them an hour later; more than five are not kept."""
    assert 3 <= size.measure(name).ideas <= 5


def test_what_is_beyond_the_budget_is_named() -> None:
    assert size.beyond(size.BUDGET) == []
    assert size.beyond(size.BUDGET._replace(core_words=2601, brackets=13.2)) == [
        "2601 core words (2600)",
        "13 brackets (12)",
    ]
    assert size.beyond_the_day({"01_attention": 70, "02_feed_forward": 75}) == []
    assert size.beyond_the_day({"01_attention": 405, "02_feed_forward": 80}) == [
        "405 core minutes in 01_attention (75)",
        "80 core minutes in 02_feed_forward (75)",
        "485 core minutes in all notebooks (480)",
    ]


def test_the_build_says_what_is_beyond_the_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    """In one line for each notebook, whether or not it had to be made again."""
    counts = size.measure("00_start_here")
    monkeypatch.setattr(size, "BUDGET", counts._replace(cells=counts.cells - 1, guesses=2))
    monkeypatch.setattr(size, "MAX_DAY", 400)
    monkeypatch.setattr(build, "build", lambda *_: False)
    monkeypatch.setattr(stability, "find_outdated", lambda names: [])
    said = CliRunner().invoke(cli.app, ["build", "00_start_here"]).output.splitlines()
    assert said[:2] == [
        "00_start_here: nothing has changed",
        f"00_start_here is beyond the budget: {counts.cells} cells ({counts.cells - 1}), {counts.guesses} guesses (2)",
    ]
    assert re.fullmatch(r"the core path is beyond the budget: \d+ core minutes in all notebooks \(400\)", said[2])


def test_a_size_counts_what_a_student_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither code, formulas nor a full answer; what is deeper is not on the core path."""
    texts = (
        "# Two words\n\nOne (*two*) $f(x)$ `f(x)` [four](https://a.b/c(d)).\n\n```\nno(words)\n```",
        "## Later\n\n*deeper: the core path goes on with section 2*\n\nFive words are on it.",
        "<!-- ### BEGIN SOLUTION -->\nA full answer.\n<!-- ### END SOLUTION -->",
        "<details><summary>Why?</summary>\n\n| a | b |\n|--:|---|\n| 1 | 2 |\n\n</details>",
        f"{size.IDEAS}\n\n| idea | tested by |\n| --- | --- |\n| It is so. | `a` |\n| That too. | `b` |",
    )
    demos = ("play(wire.low())", "play(lambda: wire.high(answer))", "controls.show(draw)", 'predict("one")', "print(1)")
    veils = ('veil("Why?", "when it is done", text="""\nNo.\n""")',)
    cells = [nbformat.v4.new_markdown_cell(text) for text in texts]
    cells += [nbformat.v4.new_code_cell(source, metadata={"tags": ["demo"]}) for source in (*demos, *veils)]
    monkeypatch.setattr(build, "notebook_of", lambda assignment: nbformat.v4.new_notebook(cells=cells))
    monkeypatch.setattr(Course, "exercises_of", lambda self, notebook: [])
    counts = size.measure("02_feed_forward")
    assert counts[:5] == (11, 7 + 7 + 15, 2, 1, 2)
    assert counts[-3:-1] == (5, 1)  # the longest closed text; the most tables in one
    assert counts.brackets == pytest.approx(1000 / (7 + 1 + 9 + 5 + 7 + 5 + 15))


def test_points_off_the_core_path_are_told_also_of_a_quiz() -> None:
    header = next(cell.source for cell in build.notebook_of("01_attention").cells if "**Points**" in cell.source)
    assert "20 for code, 7 of them *deeper*, 3 for the quiz (1 *deeper*) and 3 for" in header


def test_the_core_path_is_for_a_day() -> None:
    assert size.beyond_the_day({name: minutes.round_minutes(size.estimate(name))[0] for name in NAMES}) == []


def test_minutes_follow_the_marks_of_what_is_deeper(monkeypatch: pytest.MonkeyPatch) -> None:
    def counted(mark: str) -> minutes.Minutes:
        source = f"# Title\n\n{'a word ' * 200}\n\n## 1 · First\n\n{mark}\n\n{'a word ' * 100}\n\n## 2 · Second\n\n{'a word ' * 100}"
        cells = [
            nbformat.v4.new_markdown_cell(source),
            nbformat.v4.new_code_cell("controls.show(draw)", metadata={"tags": ["demo"]}),
        ]
        cells += [
            nbformat.v4.new_markdown_cell(
                "## 3 · Words\n\n*question M3 · 3 points, graded by your instructor · 8 minutes*\n\nWhy?"
            )
        ]
        return minutes.estimate(cells, [], "a notebook")

    plain, marked = counted(""), counted("*deeper: the core path goes on with section 2*")
    assert plain.words == marked.words == 8 and plain.deeper == 0
    assert 1 <= marked.deeper < 1.1 and 5.9 < marked.core + marked.deeper < 6.2
