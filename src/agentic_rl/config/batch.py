"""Checking several configurations in one run: files, folders, standard input."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentic_rl.config.aura.bundle import NAMES, Bundle, in_set, load_bundle, naming_set, set_of
from agentic_rl.config.aura.inference import inference_of, is_inference
from agentic_rl.config.diagnostics import STANDARD_INPUT, Finding, Report
from agentic_rl.config.load import Loaded, load_document, read_document
from agentic_rl.config.project_settings import Known, ProjectSettings
from agentic_rl.config.reporting.forms import Form, rendered
from agentic_rl.config.rules import Page, describe
from agentic_rl.config.search import TooManyFilesError, folders_with, why_not, yaml_files
from agentic_rl.config.selection import Choice, Selection
from agentic_rl.config.source import Document, parse
from agentic_rl.config.source.text import LIMIT

if TYPE_CHECKING:
    from agentic_rl.config.artifacts import Reader

STDIN = "-"
"""The path that stands for standard input."""

SKIPPED = describe(
    "ARL017",
    "File was skipped",
    "note",
    "A YAML file below a folder that is no configuration of a format that this version reads. Named by itself, it is "
    "checked (unless `--skip-others` is given).",
)
NOTHING = describe(
    "ARL018",
    "Nothing to check in the folder",
    "error",
    "No file below the folder is a configuration, so that `check` would pass whatever is wrong. Files and folders "
    "whose names begin with a dot, and links, are not looked at; nor is a folder of more than 100,000 files.",
)


@dataclass(frozen=True)
class CheckedFile:
    """What is known about one configuration after it was checked; its document is let go of."""

    file: str
    report: Report
    config: Mapping[str, Any]
    """The values as read, defaults included."""

    def to_dict(self) -> dict[str, Any]:
        """The JSON form of one file."""
        return {**self.report.to_dict(), "config": self.config}


@dataclass
class Batch:
    """The result of one run."""

    files: list[CheckedFile] = field(default_factory=list)
    about_run: list[Finding] = field(default_factory=list)
    """Skipped files, folders without a configuration, settings that can't be read."""
    one: bool = False
    """A single file was named, so that the JSON form is that of a file."""
    config: Mapping[str, Any] | None = None
    """The values of the training YAML, where one set of files was named."""

    @property
    def report(self) -> Report:
        """All findings together."""
        sources = {file: lines for checked in self.files for file, lines in checked.report.sources.items()}
        findings = [finding for checked in self.files for finding in checked.report.findings]
        return Report([*findings, *self.about_run], sources)

    def to_dict(self) -> dict[str, Any]:
        """The JSON form: of one named file `verdict`, `findings` and `config`; of several also those of each."""
        if self.one:
            return {**self.report.to_dict(), "config": self.files[0].config}
        config = {} if self.config is None else {"config": self.config}
        return {**self.report.to_dict(), **config, "files": [{"file": one.file, **one.to_dict()} for one in self.files]}

    def render(self, form: Form = "text", *, colour: bool = False) -> str:
        """The report in one of its forms."""
        text = rendered(form, self.report, self.to_dict, colour=colour)
        if form != "text" or self.one:
            return text
        return f"{text} in {len(self.files)} file{'' if len(self.files) == 1 else 's'}"


@dataclass(frozen=True)
class Check:
    """How configurations are checked."""

    overrides: Sequence[str] = ()
    files: bool = True
    """Look at the files that a configuration names; never done for standard input."""
    skip_others: bool = False
    """Skip named files that are no configurations, as those in a folder are."""
    typed: Choice = field(default_factory=Choice)
    known: Known = tuple
    """For reading the settings of projects."""
    device_memory: int | None = None
    """Bytes of one device."""
    prepare: Callable[[Loaded], bool] = lambda loaded: False
    """Called with each configuration before its report counts; true when the files were changed."""
    further: Callable[[Loaded], Iterable[Finding]] = lambda loaded: ()
    """Asked about each configuration without an error for more findings."""

    def run(self, paths: Sequence[str]) -> Batch:
        """Check every file, and every configuration below every folder."""
        run = _Run(self)
        folders = [path for path in paths if path != STDIN and _is_folder(path)]
        for path in dict.fromkeys(paths):
            one_set = set_of(path) if path != STDIN else None
            if one_set:
                run.set(one_set)
            elif path in folders:
                run.folder(path)
            else:
                run.file(path, self.skip_others)
        run.batch.one = len(paths) == len(run.batch.files) == 1 and not folders
        return run.batch


class _Run:
    """One run, with what its configurations share."""

    def __init__(self, how: Check) -> None:
        self.batch = Batch()
        self._how = how
        self._settings = ProjectSettings(how.known)
        self._readers = _readers() if how.files else ()
        self._done: set[str] = set()
        self._sets: set[str] = set()

    def folder(self, folder: str) -> None:
        """Check every configuration below a folder."""
        try:
            found = [self.set(one) for one in folders_with(NAMES, folder)]
            found += [self.file(file, skip_others=True) for file in yaml_files(folder)]
        except TooManyFilesError:
            message = "the folder holds too many files to look for configurations in it"
            self._about(NOTHING, folder, message, "name the files, or a smaller folder")
            return
        if not any(found):
            self._about(NOTHING, folder, "no configuration below it")

    def file(self, path: str, skip_others: bool) -> bool:
        """Check one file, once in a run, or skip it as no configuration: then false."""
        name = os.path.normpath(path)
        if name not in self._done and not self._check(path, skip_others):
            return False
        self._done.add(name)
        return True

    def set(self, folder: str | Path) -> bool:
        """Check hosts.conf, base.conf and the YAML files that it names, once in a run."""
        if os.path.normpath(folder) not in self._sets:
            self._sets.add(os.path.normpath(folder))
            bundle = load_bundle(
                folder, self._how.overrides, files=self._how.files, device_memory=self._how.device_memory
            )
            if bundle.train:
                bundle.report.extend(self._further(bundle.train))
            self._done |= {os.path.normpath(file) for file in bundle.files}
            self._take(bundle)
        return True

    def _take(self, bundle: Bundle) -> None:
        """Add the files of a set, each with what was found in it; what has no file goes to the last one."""
        findings, files = bundle.report.findings, bundle.files
        for file in files:
            last = file == files[-1]
            own = [one for one in findings if one.file == file or (last and one.file not in files)]
            report = self._selected(file, Report(own, {file: bundle.report.sources.get(file, [])}))
            config = bundle.train.effective() if bundle.train and bundle.train.document.file == file else {}
            self.batch.files.append(CheckedFile(file, report, config))
            self.batch.config = config or self.batch.config

    def _check(self, path: str, skip_others: bool) -> bool:
        document, own = self._read(path)
        named_by = naming_set(path) if in_set(document) and path != STDIN else None
        if named_by:
            return self.set(named_by)
        reason = why_not(document) if skip_others and document.lines else ""
        if skip_others and in_set(document) and self._in_known_set(path):
            reason = "the set has a base.conf, which does not name it"
        if reason:
            self._about(SKIPPED, path, f"skipped: {reason}")
            return False
        if is_inference(document.tree):
            self._take_inference(document)
            return True
        loaded = self._loaded(document, own)
        if self._how.prepare(loaded):
            loaded = self._loaded(*self._read(path))
        loaded.report.extend(self._further(loaded))
        # What could not be read is told whatever was chosen.
        report = self._selected(path, loaded.report) if loaded.values else loaded.report
        self.batch.files.append(CheckedFile(document.file, report, loaded.effective()))
        return True

    def _further(self, loaded: Loaded) -> Iterable[Finding]:
        return () if loaded.report.verdict == "error" else list(self._how.further(loaded))

    def _take_inference(self, document: Document) -> None:
        found = inference_of(document, files=self._how.files and document.file != STANDARD_INPUT)
        report = self._selected(document.file, Report(found.findings, {document.file: document.lines}))
        self.batch.files.append(CheckedFile(document.file, report, dict(found.values)))

    def _in_known_set(self, path: str) -> bool:
        """Whether the file lies where a set that was checked has its YAML files."""
        folder = Path(path).parent
        return any(os.path.normpath(one) in self._sets for one in (folder, folder.parent))

    def _selected(self, path: str, report: Report) -> Report:
        chosen = self._settings.of(path)
        self.batch.about_run += [finding for finding in chosen.findings if finding not in self.batch.about_run]
        return Selection(self._how.typed, chosen.choice).apply(report)

    def _about(self, page: Page, path: str, message: str, hint: str = "") -> None:
        self.batch.about_run.append(Finding(page.code, page.severity, "", message, hint, path))

    def _read(self, path: str) -> tuple[Document, list[Finding]]:
        if path == STDIN:
            return parse(sys.stdin.buffer.read(LIMIT + 1), STANDARD_INPUT), []
        return read_document(path, self._how.files)

    def _loaded(self, document: Document, own: Sequence[Finding]) -> Loaded:
        return load_document(
            document,
            self._how.overrides,
            files=self._how.files and document.file != STANDARD_INPUT,
            device_memory=self._how.device_memory,
            findings=own,
            readers=self._readers,
        )


def _is_folder(path: str) -> bool:
    try:
        return Path(path).is_dir()
    except (OSError, ValueError):  # a name that no file can have; reading says so
        return False


def _readers() -> Sequence[Reader]:
    """Readers that remember what the configurations of one run share."""
    from agentic_rl.config.artifacts import repeated

    return repeated()
