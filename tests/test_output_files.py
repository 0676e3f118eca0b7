"""Where commands are told to write: no output overwrites another one, an input or a file of the class, and that is said before anything is done."""

from __future__ import annotations

from pathlib import Path

import pytest
from fabricated import FFN, FakeAttempt, fabricate
from typer.testing import CliRunner

from autograder.class_folder.folder import LOCK, ClassFolder
from autograder.class_folder.outputs import check_outputs
from autograder.cli import app
from autograder.errors import UserError
from autograder.gradebook import gradebook
from autograder.reports import class_report

LIST = "student,name,email,not_handed_in"


@pytest.fixture(scope="module")
def class_folder(tmp_path_factory: pytest.TempPathFactory) -> ClassFolder:
    """Ada Lovelace's, with what an instructor writes beside the gradebook."""
    folder = fabricate(tmp_path_factory.mktemp("class"), {"ada": [FakeAttempt(["ffn_forward"])]})
    with gradebook.Book(folder, writing=True) as book:
        book.upsert_students({"ada": {"first_name": "Ada", "last_name": "Lovelace"}})
    (folder.path / "course.toml").write_text('attempts = "best"\n', encoding="utf-8")
    return folder


def contents(folder: Path) -> dict[str, bytes]:
    files = [path for path in sorted(folder.rglob("*")) if path.is_file() and path.name != LOCK]
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def refused(*words: str | Path) -> str:
    """What a command says that refuses."""
    result = CliRunner().invoke(app, [str(word) for word in words])
    assert isinstance(result.exception, UserError), (result.output, result.exception)
    text = str(result.exception)
    assert "\n" not in text
    return text


# The rule


def test_two_outputs_are_two_files_by_whatever_path(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "linked").symlink_to(tmp_path / "real")
    (tmp_path / "real" / "there.csv").write_text("", encoding="utf-8")
    (tmp_path / "link.csv").symlink_to(tmp_path / "real" / "there.csv")
    (tmp_path / "second_name.csv").hardlink_to(tmp_path / "real" / "there.csv")
    for first, second in (
        ("new.csv", "new.csv"),
        ("new.csv", "real/../new.csv"),
        ("real/new.csv", "linked/new.csv"),
        ("real/there.csv", "link.csv"),
        ("real/there.csv", "second_name.csv"),
    ):
        with pytest.raises(UserError, match="--to and --csv are one file"):
            check_outputs({"--to": tmp_path / first, "--notebook": None, "--csv": tmp_path / second})
        with pytest.raises(UserError, match="is the sheet itself, which is not changed"):
            check_outputs({"--to": tmp_path / first}, inputs={"the sheet": tmp_path / second})
    check_outputs({"--to": tmp_path / "a.csv", "--csv": tmp_path / "b.csv"})
    check_outputs({"--to": Path("/dev/null"), "--csv": Path("/dev/null")})


def test_an_output_is_no_folder_and_in_one(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(UserError, match="is a folder; give the name of a file"):
        check_outputs({"--to": tmp_path})
    with pytest.raises(UserError, match=f"{tmp_path}/file is not a folder"):
        check_outputs({"--to": tmp_path / "file" / "new" / "x.csv"})
    check_outputs({"--to": tmp_path / "new" / "folder" / "x.csv"})


@pytest.mark.parametrize(
    "name", ["gradebook.db", "course.toml", "roster.csv", "hidden_draws.json", "submitted/ada/new.ipynb", "feedback/x"]
)
def test_what_belongs_to_the_class_is_no_output(name: str, class_folder: ClassFolder, tmp_path: Path) -> None:
    (tmp_path / "linked").symlink_to(class_folder.path)
    for path in (class_folder.path / name, tmp_path / "linked" / name):
        with pytest.raises(UserError, match="belongs to the class"):
            check_outputs({"--to": path}, class_folder)
    check_outputs({"--to": class_folder.path / "report.html", "--csv": class_folder.path / "class.csv"}, class_folder)


def test_a_gradebook_elsewhere_belongs_to_the_class_too(tmp_path: Path) -> None:
    class_folder = ClassFolder(tmp_path / "class", f"sqlite:///{tmp_path}/other.db")
    with pytest.raises(UserError, match="belongs to the class"):
        check_outputs({"--to": tmp_path / "other.db"}, class_folder)


# The commands


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--to", "x", "--csv", "x"], "--to and --csv are one file, x,"),
        (["--to", "x-students.csv", "--csv", "x.csv"], "--to and FILE-students.csv are one file, x-students.csv,"),
        (["--to", "x.csv", "--notebook", "x.ipynb"], "--to and the CSV of --notebook are one file, x.csv,"),
        (["--notebook", "x.csv"], "the CSV of --notebook and --notebook are one file, x.csv,"),
        (["--notebook", "x-students.csv", "--csv", "x.csv"], "--notebook and FILE-students.csv are one file"),
        (["--notebook", "/dev/stdout"], "name the CSV with --csv FILE"),
        (["--csv", "."], "is a folder; give the name of a file"),
        (["--notebook", ".."], "is a folder; give the name of a file"),
        (["--csv", "{class}/gradebook.db"], "belongs to the class"),
        (["--to", "{class}/course.toml"], "belongs to the class"),
    ],
)
def test_a_report_that_would_overwrite_something_is_refused_before_any_work(
    words: list[str], message: str, class_folder: ClassFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(class_report, "build_report", None)
    before = contents(class_folder.path)
    options = [word.replace("{class}", str(class_folder.path)) for word in words]
    assert message in refused("report", "--grading", class_folder.path, *options)
    assert not contents(tmp_path) and contents(class_folder.path) == before


@pytest.mark.parametrize("hide", [[], ["--hide-names"]])
def test_a_file_that_nobody_named_and_no_report_wrote_is_neither_overwritten_nor_removed(
    hide: list[str], class_folder: ClassFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(class_report, "build_report", None)
    report: list[str | Path] = ["report", "--grading", class_folder.path, "--to", "page.html", *hide]
    (tmp_path / "class-students.csv").write_text("name;phone\nAda;1\n", encoding="utf-8")
    assert "class-students.csv is there already and is not a report's" in refused(*report, "--csv", "class.csv")
    (tmp_path / "elsewhere.csv").write_text(f"{LIST}\n", encoding="utf-8")
    (tmp_path / "linked-students.csv").symlink_to(tmp_path / "elsewhere.csv")
    assert "linked-students.csv is there already" in refused(*report, "--csv", "linked.csv")
    (tmp_path / "points.csv").write_text("mine\n", encoding="utf-8")
    assert "points.csv is there already and is not a report's" in refused(*report, "--notebook", "points.ipynb")
    assert sorted(contents(tmp_path)) == [
        "class-students.csv", "elsewhere.csv", "linked-students.csv", "points.csv",
    ]  # fmt: skip


def test_with_hidden_names_no_earlier_list_of_students_stays_beside_the_new_files(
    class_folder: ClassFolder, tmp_path: Path
) -> None:
    words: list[str | Path] = ["report", "--grading", class_folder.path, "--to", tmp_path / "page.html"]
    words += ["--csv", tmp_path / "class.csv", "--notebook", tmp_path / "own.ipynb"]
    for again in range(2):
        result = CliRunner().invoke(app, [str(word) for word in words])
        assert "Lovelace" in (tmp_path / "class-students.csv").read_text(encoding="utf-8"), (again, result.output)
    result = CliRunner().invoke(app, [str(word) for word in [*words, "--hide-names"]])
    assert "class-students.csv: removed, since it had names" in result.output
    assert sorted(contents(tmp_path)) == ["class.csv", "own.ipynb", "page.html"]
    assert not any(b"ovelace" in content for content in contents(tmp_path).values())
    result = CliRunner().invoke(app, [str(word) for word in [*words, "--hide-names"]])
    assert "removed" not in result.output, "nothing was there any more"


def test_beside_a_device_there_is_no_list_of_students(class_folder: ClassFolder, tmp_path: Path) -> None:
    words: list[str | Path] = [
        "report",
        "--grading",
        class_folder.path,
        "--to",
        tmp_path / "page.html",
        "--csv",
        "/dev/null",
    ]
    result = CliRunner().invoke(app, [str(word) for word in words])
    assert "/dev/null: " in result.output and "mail merge" not in result.output
    assert not Path("/dev/null-students.csv").exists()


def test_other_commands_do_not_write_over_the_class_either(
    class_folder: ClassFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from autograder.authoring import bench, handout
    from autograder.gradescope import build_zip
    from autograder.grading import feedback
    from autograder.reports import explain

    for module, name in (
        (explain, "find"), (handout, "handout"), (build_zip, "make"), (feedback, "rewrite"), (bench, "run"),
    ):  # fmt: skip
        monkeypatch.setattr(module, name, None)
    before = contents(class_folder.path)
    rules = class_folder.path / "course.toml"
    of_class: list[str | Path] = ["--grading", class_folder.path]
    assert "--script: " in refused("why", "ada", "ffn_forward", "--script", rules, *of_class)
    assert "--to: " in refused("gradescope", FFN, "--to", class_folder.path / "gradebook.db", *of_class)
    assert "the zip file: " in refused("handout", rules, *of_class)
    assert "--to: " in refused("give-back", "moodle", FFN, "--pages", "--to", rules, *of_class)
    assert "is a folder" in refused("bench", FFN, "--picture", tmp_path)
    assert contents(class_folder.path) == before
