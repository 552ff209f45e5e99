"""One composition, step by step."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from agentic_rl.config.aura.composition import pages
from agentic_rl.config.aura.composition.composed import Composed, Kind, Origin
from agentic_rl.config.aura.composition.defaults import Item, folders_of, items_of
from agentic_rl.config.aura.composition.finding_templates import Found, find
from agentic_rl.config.aura.composition.merging import Merged, RefusedError, brought, leaves, merged
from agentic_rl.config.aura.composition.reference_text import BadReferenceError
from agentic_rl.config.aura.composition.references import LACKING, References, Unresolved, dotted, too_large
from agentic_rl.config.aura.composition.references import Path as Keys
from agentic_rl.config.diagnostics import NOT_FILES, Finding, Place, Severity
from agentic_rl.config.overrides import Overridden
from agentic_rl.config.rules import Page
from agentic_rl.config.source import Document

DEFAULTS, HYDRA = "defaults", "hydra"
GROUPS = (
    *("agentic_ai", "serve_conf", "direct_conf", "verl_conf", "msrl_conf"),
    *("train_instances", "agent_instances", "infer_instances"),
)
"""What templates may bring at the top; whatever else they have there is only referred to."""


class Composition:
    """Composes one file."""

    def __init__(self, document: Document, overridden: Overridden, environ: Mapping[str, str]) -> None:
        self._places = document.places
        self._file = document.file
        self._overrides = overridden.overrides
        self._environ = environ
        self._given = overridden.tree
        self._own = {name: value for name, value in overridden.tree.items() if name not in (DEFAULTS, HYDRA)}
        self._result = Composed(findings=list(overridden.findings), places=document.places)
        self._brought: dict[int, set[str]] = {}
        """Index of an item that shares its section with others -> what it brings."""
        self._refused = False
        """The file is alone, without templates that it needs: what it refers to may be theirs."""

    def composed(self) -> Composed:
        """Everything, resolved."""
        items, merged_tree = self._merged()
        self._originate(merged_tree, items)
        self._resolve(merged_tree.tree, {item.key: item.package for item in items})
        return self._result

    def _merged(self) -> tuple[list[Item], Merged]:
        """The file with its templates; the file alone where there are none, or where they can't be composed."""
        alone = Merged(self._own, {key for key, _ in leaves(self._own, ())})
        defaults = self._given.get(DEFAULTS)
        if defaults is None:
            return [], alone
        try:
            items = list(items_of(_list_of(defaults)))
        except BadReferenceError as error:
            self._find(pages.REFUSED, DEFAULTS, error.message, error.hint)
            self._refused = True
            return [], alone
        found = find(items, *self._folders(), self._folder())
        for page, key, message, hint in found.told:
            self._find(page, key, message, hint)
            self._refused |= page is pages.NOT_IN_GROUP
        if not found.items:
            return [], alone
        return found.items, self._by_hydra(found, _list_of(defaults)) or alone

    def _by_hydra(self, found: Found, defaults: Sequence[Any]) -> Merged | None:
        indices = {item.index for item in found.items}
        kept = [one for index, one in enumerate(defaults) if index in indices or one == "_self_"]
        try:
            result = merged(self._own, kept, self._folder(), found.folders)
        except ImportError:
            message = f"hydra-core is not installed, so that {', '.join(_names(found.items))} could not be composed"
            hint = "python -m pip install 'agentic-rl[instances]'"
            self._find(pages.NO_HYDRA, DEFAULTS, f"{message}; what the file says itself is checked alone", hint)
        except RefusedError as error:
            self._find(pages.REFUSED, DEFAULTS, f"Hydra does not compose them: {error}", "see the templates' own text")
            self._refused = True
        else:
            self._report_replaced(result)
            self._tell_apart(found)
            return result
        return None

    def _tell_apart(self, found: Found) -> None:
        packages = Counter(item.package for item in found.items)
        for item in found.items:
            if packages[item.package] > 1:
                keys = brought(item.written, self._folder(), found.folders)
                self._brought |= {} if keys is None else {item.index: keys}

    def _report_replaced(self, result: Merged) -> None:
        lost = [key for key, value in leaves(self._own, ()) if key not in result.own and value != {}]
        if lost:
            more = f" (so in all for {len(lost)} values of the file)" if len(lost) > 1 else ""
            message = f"replaced by a template: `_self_` is not the last item of defaults{more}"
            self._find(pages.REPLACED, lost[0], message, "write `- _self_` as the last item of defaults")

    def _folder(self) -> Path:
        return Path(os.path.abspath(Path(self._file).parent if self._file not in NOT_FILES else "."))  # noqa: PTH100 - links stay

    def _folders(self) -> tuple[list[Path], list[str]]:
        """Folders of the search path, and entries of it that name none."""
        hydra = self._given.get(HYDRA)
        entries = hydra.get("searchpath") if isinstance(hydra, Mapping) else None
        if entries is not None and not (isinstance(entries, list) and all(isinstance(one, str) for one in entries)):
            message = f"{str(entries)[:60]!r} is no list of folders"
            self._find(pages.REFUSED, f"{HYDRA}.searchpath", message, "- file:///FOLDER")
        texts = [one for one in entries if isinstance(one, str)] if isinstance(entries, list) else []
        references = References(self._given, self._environ)
        resolved = [references.value((HYDRA, "searchpath", index), one) for index, one in enumerate(texts)]
        self._report_unresolved(references.unresolved)
        return folders_of([one for one in resolved if isinstance(one, str)], self._folder())

    def _originate(self, whole: Merged, items: Sequence[Item]) -> None:
        """Say of every value, and of every section that a person wrote, where it came from."""
        result = self._result
        for key, value in leaves(whole.tree, ()):
            own = key in whole.own or not items or (value == {} and key in self._places)
            result.origins[key] = self._own_origin(key) if own else _template_of(key, items, self._brought)
        for key in [*result.origins]:
            for one in _items_of_list(whole.tree, key):
                result.origins[one] = self._item_origin(one, key)
        lost = {key for key, origin in result.origins.items() if origin.kind == "template"}
        written = {*self._places, *self._overrides} - lost
        result.written = {key for key in written if key.partition(".")[0].partition("[")[0] not in (DEFAULTS, HYDRA)}

    def _item_origin(self, key: str, of_list: str) -> Origin:
        return self._own_origin(key) if key in self._overrides else self._result.origins[of_list]

    def _own_origin(self, key: str) -> Origin:
        override = self._overrides.get(key)
        if override is None:
            return Origin("file")
        kind: Kind = override.source  # type: ignore[assignment]  # one of the two
        return Origin(kind, override.written)

    def _resolve(self, whole: Mapping[str, Any], packages: Mapping[str, str]) -> None:
        def home(path: Keys) -> str:
            """Verl's templates refer to their keys as if they were at the top."""
            origin = self._result.origins.get(dotted(path))
            return packages[origin.key] if origin is not None and origin.kind == "template" else ""

        references = References(whole, self._environ, home)
        wanted = {name: value for name, value in whole.items() if name in GROUPS or name in self._own}
        tree = {name: references.value((name,), value) for name, value in wanted.items()}
        tree = {name: value for name, value in tree.items() if value is not LACKING}
        if too_large(tree):
            self._find(
                pages.REFERENCE, "", "the references expand to more values than a file may have", "refer to less"
            )
            return
        self._result.tree = tree
        self._report_unresolved(references.unresolved)

    def _report_unresolved(self, unresolved: Sequence[Unresolved]) -> None:
        result = self._result
        result.flawed |= {dotted(one.path) for one in unresolved}
        of_templates: dict[Origin, list[Unresolved]] = {}
        of_file: list[Unresolved] = []
        for one in unresolved:
            origin = result.origins.get(dotted(one.path))
            if origin is not None and origin.kind == "template":
                of_templates.setdefault(origin, []).append(one)
            else:
                of_file.append(one)
        for one in () if self._refused else of_file:
            self._find(pages.REFERENCE, dotted(one.path), one.message, one.hint)
        for origin, several in of_templates.items():
            self._report_template(origin, several)

    def _report_template(self, origin: Origin, several: Sequence[Unresolved]) -> None:
        """One finding for what a template refers to, and what is not there."""
        first = several[0]
        more = f", and {len(several) - 1} more of its references" if len(several) > 1 else ""
        message = f"{first.message}{more} (from the template {origin.name})"
        hint = f"verl's templates refer to keys at the top: write `- {origin.name}` too, above its item with @"
        self._find(pages.REFERENCE, dotted(first.path), message, hint, "warning")

    def _find(self, page: Page, key: str, message: str, hint: str, severity: Severity | None = None) -> None:
        place = self._result.place_of(key) or self._nearest(key)
        finding = Finding(page.code, severity or page.severity, key, message, hint)
        self._result.findings.append(replace(finding, file=place.file, line=place.line, column=place.column))

    def _nearest(self, key: str) -> Place:
        while key:
            override = self._overrides.get(key)
            if override is not None:
                return Place(override.source)
            if key in self._places:
                return self._places[key]
            key = key[: max(key.rfind("."), key.rfind("["), 0)]
        return Place(self._file)


def _list_of(defaults: Any) -> list[Any]:
    if not isinstance(defaults, list):
        raise BadReferenceError(f"{str(defaults)[:60]!r} is no list of templates", "- NAME, - NAME@SECTION, - _self_")
    return defaults


def _names(items: Sequence[Item]) -> list[str]:
    return list(dict.fromkeys(item.name for item in items))


def _template_of(key: str, items: Sequence[Item], brought_by: Mapping[int, set[str]]) -> Origin:
    """The last of the items that fill the innermost section around a key; of several, of those that bring the key."""
    fitting = [item for item in items if not item.package or f"{key}.".startswith(f"{item.package}.")]
    fitting = [item for item in fitting if key in brought_by.get(item.index, (key,))] or fitting
    if not fitting:
        return Origin("template", items[-1].name, items[-1].key)
    best = max(fitting, key=lambda item: (len(item.package), item.index))
    return Origin("template", best.name, best.key)


def _items_of_list(tree: Mapping[str, Any], key: str) -> Iterator[str]:
    """The keys below a list that stands at a dotted key."""
    node: Any = tree
    for part in key.split("."):
        if not isinstance(node, Mapping) or part not in node:
            return  # a name with a dot in it
        node = node[part]
    if isinstance(node, list):
        yield from _below(node, key)


def _below(node: Any, key: str) -> Iterator[str]:
    if isinstance(node, list):
        for index, one in enumerate(node):
            yield from _below(one, f"{key}[{index}]")
    elif isinstance(node, Mapping) and node:
        for name, one in node.items():
            yield from _below(one, f"{key}.{name}")
    else:
        yield key
