"""The templates of a file, laid over each other by Hydra, with marks where the file's own values stand."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agentic_rl.config.aura.composition.references import Path as Keys
from agentic_rl.config.aura.composition.references import dotted

_NAME = "agentic_rl_composes_this"
_MARK = "@agentic-rl-value:"


class RefusedError(ValueError):
    """Hydra does not compose the templates; in its words."""


@dataclass
class Merged:
    """The templates and the file as one tree, references as they are written."""

    tree: dict[str, Any]
    own: set[str] = field(default_factory=set)
    """Dotted keys of the values, lists as a whole, that are the file's."""


def merged(tree: Mapping[str, Any], defaults: Sequence[Any], folder: Path, further: Sequence[Path]) -> Merged:
    """Compose `tree`, which is the file without `defaults` and `hydra`, with the templates that `defaults` names.

    Hydra is given marks in place of the file's values, so that in its result each value shows whose it is.

    Args:
        tree: the file's own values.
        defaults: items as Hydra reads them.
        folder: where templates are looked for first.
        further: the other folders.

    Raises:
        ImportError: hydra-core is not installed.
        RefusedError: Hydra does not compose them.
    """
    values: list[Any] = []
    marked = _marked(tree, values)
    hydra = {"searchpath": [f"file://{one}" for one in further]}
    try:
        composed = _composed({"defaults": list(defaults), "hydra": hydra, **marked}, folder, {})
    except RefusedError as error:
        composed = _in_two_steps(defaults, hydra, marked, folder, error)
    result = Merged({})
    result.tree = _unmarked(composed, (), values, result.own)
    return result


def brought(written: Any, folder: Path, further: Sequence[Path]) -> set[str] | None:
    """Dotted keys of the values, lists as a whole, that one item of `defaults` brings; None where nobody can say."""
    try:
        return {key for key, _ in leaves(merged({}, [written], folder, further).tree, ())}
    except RefusedError:
        return None


def leaves(value: Any, path: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
    """Dotted key and value of everything that is no section, lists as a whole; and of empty sections."""
    if isinstance(value, Mapping) and value:
        for name, one in value.items():
            yield from leaves(one, (*path, str(name)))
    elif path:
        yield dotted(path), value


def _in_two_steps(
    defaults: Sequence[Any], hydra: dict[str, Any], marked: dict[str, Any], folder: Path, refused: RefusedError
) -> Any:
    """Each template by itself at the top first: those of verl choose parts by names at the top, as `model_engine`.

    In a section, `ppo_trainer@verl_conf`, Hydra does not find these names.
    """
    made: dict[str, Any] = {}
    items: list[Any] = []
    for item in defaults:
        name, at, package = item.partition("@") if isinstance(item, str) else ("", "", "")
        if not name or name == "_self_" or "/" in name or " " in name:
            items.append(item)
            continue
        node = f"{_NAME}_{name}"
        try:
            made[node] = made.get(node) or _composed({"defaults": [name], "hydra": hydra}, folder, {})
        except RefusedError:
            raise refused from None
        items.append(f"{node}{at}{package}")
    if not made:
        raise refused
    return _composed({"defaults": items, "hydra": hydra, **marked}, folder, made)


def _composed(primary: dict[str, Any], folder: Path, nodes: Mapping[str, Any]) -> Any:
    """What Hydra makes of a configuration with `nodes` as templates; its global state is left as it was found."""
    import hydra
    from hydra.core.config_store import ConfigStore
    from hydra.core.global_hydra import GlobalHydra
    from omegaconf import OmegaConf

    before, store = GlobalHydra.instance().hydra, ConfigStore.instance()
    nodes = {**nodes, _NAME: primary}
    try:
        GlobalHydra.instance().clear()
        for name, node in nodes.items():
            store.store(name=name, node=node, provider="agentic-rl")
        with warnings.catch_warnings(), hydra.initialize_config_dir(str(folder), version_base=None):
            warnings.simplefilter("ignore")
            return OmegaConf.to_container(hydra.compose(_NAME), resolve=False)
    except Exception as error:  # Hydra lets errors of the YAML reader, OmegaConf's and its own assertions pass
        raise RefusedError(_told(error)) from None
    finally:
        for name in nodes:
            store.repo.pop(f"{name}.yaml", None)
        GlobalHydra.instance().clear()
        GlobalHydra.instance().hydra = before


def _told(error: Exception) -> str:
    """The first lines of Hydra's words that say something."""
    if isinstance(error, RecursionError):
        return "templates name each other without end"
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    where = [line for line in lines[2:] if line.startswith('in "')][-1:]  # of YAML's reader: file, line, column
    return " ".join([*lines[:2], *where])[:300] or type(error).__name__


def _marked(value: Any, values: list[Any]) -> Any:
    if isinstance(value, Mapping) and value:
        return {name: _marked(one, values) for name, one in value.items()}
    if isinstance(value, Mapping):
        return {}
    values.append(value)
    return f"{_MARK}{len(values) - 1}"


def _unmarked(value: Any, path: Keys, values: list[Any], own: set[str]) -> Any:
    if isinstance(value, dict):
        return {name: _unmarked(one, (*path, name), values, own) for name, one in value.items()}
    if isinstance(value, str) and value.startswith(_MARK):
        own.add(dotted(path))
        return values[int(value[len(_MARK) :])]
    return value
