"""The checkpoint that the run would go on from (ARL260-267)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath

from agentic_rl.config.fields.wording import show
from agentic_rl.config.flat.in_force import (
    devices,
    devices_told,
    key_of,
    nodes_key,
    steps,
    steps_per_epoch,
    told,
    trains,
)
from agentic_rl.config.manifest import lacking
from agentic_rl.config.rules import Facts, Problem, Rule, rule

PATHS: list[Rule] = []
RESUMING: list[Rule] = []
"""Rules that need what lies in the folder of the run, or the number of steps."""

_AFRESH = "another experiment_name, which starts afresh"
_MODEL_SIZES = ("model_type", "hidden_size", "num_hidden_layers")


@rule(RESUMING, "ARL260", "Checkpoint of another number of devices", "error")
def world_size(facts: Facts) -> Iterator[Problem]:
    """A run of verl goes on from `checkpoints/PROJECT/EXPERIMENT` by itself; each device loads its own rank's file.

    The names of these files hold the number of devices that wrote them (`model_world_size_8_rank_0.pt`), so a run with
    another `num_gpus_per_node` times `nnodes` finds none and stops. Take as many devices, or start afresh under another
    name.
    """
    if facts["train_backend"] != "verl":
        return
    size, now = facts["@checkpoint.world_size"], devices(facts)
    if size == now:
        return
    nodes = facts[nodes_key(facts)]
    only_nodes = facts.wrote(nodes_key(facts)) and not facts.wrote("num_gpus_per_node")
    key = nodes_key(facts) if only_nodes else "num_gpus_per_node"
    message = f"{devices_told(facts)}, but the run would go on from {_path(facts)}, which "
    message += f"{show(size)} devices wrote; verl can't load it with {show(now)}"
    same = f"num_gpus_per_node: {show(size // nodes)}, or " if nodes and size % nodes == 0 else ""
    yield Problem(key, message, same + _AFRESH)


@rule(RESUMING, "ARL261", "Checkpoint of another model", "error")
def another_model(facts: Facts) -> Iterator[Problem]:
    """The checkpoint where the run would go on was written by a run of another model; its weights do not fit.

    A changed `tokenizer_name_or_path` does not start a run afresh; a changed `project_name` or `experiment_name` does.
    """
    if facts["train_backend"] == "mindspeed_rl":
        return
    path = _path(facts)
    pairs = [(name, facts.get(f"@checkpoint.{name}"), facts.get(f"@model.{name}")) for name in _MODEL_SIZES]
    different = [
        f"{name} {show(there)} there and {show(here)} here"
        for name, there, here in pairs
        if there and here and there != here
    ]
    if different:
        message = f"not the model of {path}, where the run would go on: {', '.join(different)}"
        yield Problem("tokenizer_name_or_path", message, f"the model that the run began with, or {_AFRESH}")


@rule(RESUMING, "ARL262", "Checkpoint that can't be loaded", "error")
def unusable_checkpoint(facts: Facts) -> Iterator[Problem]:
    """The checkpoint that the run would go on from lacks what its backend loads, and the run stops there.

    On verl a folder without `actor` was written by another backend (`local` uses the same place) or is incomplete;
    files of some ranks missing on the only node are a copy or a save that broke off. On `local` it was saved with less
    than `model`, `optimizer` and `extra` in `ckpt_content`, and steps are left to train. Go on from an older step, or
    start afresh.
    """
    path, problem = _path(facts), _lacking(facts)
    if problem:
        message = f"the run would go on from {path} and stop there: {problem}"
        yield Problem(key_of(facts, "experiment_name"), message, _AFRESH)


def _lacking(facts: Facts) -> str:
    """Why the backend can't load the checkpoint; empty where it can."""
    backend, writer = facts["train_backend"], facts.get("@checkpoint.backend")
    if backend == "local":
        if not trains(facts) or facts["@checkpoint.step"] >= steps(facts):
            return ""  # nothing is trained, and evaluating takes the weights alone
        missing = lacking(facts["@checkpoint.content"])
        return f"it was saved without {' and '.join(missing)}" if missing else ""
    if backend != "verl":
        return ""
    if writer != "verl":
        return f"train_backend {writer} wrote it" if writer else "it has no folder actor"
    ranks, missing_ranks = devices(facts), facts.get("@checkpoint.missing_ranks")
    if missing_ranks and facts["verl.nnodes"] == 1 and facts["@checkpoint.world_size"] == ranks:
        return f"the model files of {show(missing_ranks)} of {show(ranks)} ranks are missing"
    return ""


@rule(RESUMING, "ARL263", "Checkpoints that are not gone on from", "warning")
def unreached_checkpoints(facts: Facts) -> Iterator[Problem]:
    """There are checkpoints where the run saves, but it would start from the beginning and write over them.

    verl finds the newest one only through `latest_checkpointed_iteration.txt`. A copied folder may lack it, or it names
    a step whose folder was removed. `local` takes only whole checkpoints of its own.
    """
    backend, found = facts["train_backend"], facts.get("@checkpoint.unreached")
    pointed = facts.get("@checkpoint.pointed")
    named = f"names step {show(pointed)}, and there is no global_step_{show(pointed)}"
    if not found:
        if pointed is not None:
            message = f"latest_checkpointed_iteration.txt in {_path(facts, '@checkpoint.folder')} {named}: "
            hint = f"bring global_step_{show(pointed)} back, remove the file, or {_AFRESH}"
            yield Problem(key_of(facts, "experiment_name"), message + "the run begins again", hint)
        return
    reason = f"latest_checkpointed_iteration.txt {'leads to none of them' if pointed is None else named}"
    if backend == "local":
        reason = "none is a whole checkpoint of train_backend local"
    message = f"{_path(facts, '@checkpoint.folder')} holds {_listed(found)}, but {reason}: "
    message += "the run begins again and writes over them"
    hint = f"write {found[-1]} into latest_checkpointed_iteration.txt there, or " if backend == "verl" else ""
    yield Problem(key_of(facts, "experiment_name"), message, hint + _AFRESH)


@rule(RESUMING, "ARL264", "No step left to train", "warning")
def no_step_left(facts: Facts) -> Iterator[Problem]:
    """The checkpoint where the run would go on has all of its steps, so nothing is trained.

    The steps are whole batches of the training data times `total_epochs`, or `total_training_steps`. Raise them to
    train further, or start afresh under another name.
    """
    if facts["train_backend"] == "mindspeed_rl" or not trains(facts):
        return
    done, path, total = facts["@checkpoint.step"], _path(facts), steps(facts)
    if done >= total:
        wanted, epochs = key_of(facts, "total_training_steps"), key_of(facts, "total_epochs")
        key = wanted if facts[wanted] is not None else epochs
        message = f"the run has {show(total)} steps, and {path}, where it would go on, has {show(done)}: "
        yield Problem(key, message + "nothing is left to train", f"a larger {key.partition('.')[2]}, or {_AFRESH}")


@rule(RESUMING, "ARL265", "More steps than the epochs have", "warning")
def epochs_end_first(facts: Facts) -> Iterator[Problem]:
    """A run of verl ends after `total_epochs`, also where `total_training_steps` asks for more steps.

    The schedule of the learning rate is laid out for all the steps that were asked for, so it does not reach its end
    either. `local` goes through the data as often as the steps take.
    """
    key, epochs_key = "verl.total_training_steps", "verl.total_epochs"
    if facts["train_backend"] != "verl" or facts[key] is None or not trains(facts):
        return
    wanted, an_epoch, epochs = facts[key], steps_per_epoch(facts), facts[epochs_key]
    if 0 < an_epoch * epochs < wanted:
        message = f"{show(wanted)} steps, but the data has {show(an_epoch)} steps an epoch x "
        message += f"{told(facts, epochs_key)} = {show(an_epoch * epochs)}: verl ends there"
        yield Problem(key, message, f"total_epochs: {show(-(-wanted // an_epoch))}")


@rule(PATHS, "ARL266", "Trained model saved over the one it began with", "warning")
def saved_over(facts: Facts) -> Iterator[Problem]:
    """Megatron keeps in a folder one pointer to the newest checkpoint in it, which loading follows.

    With `save_params_path` equal to `load_params_path` the first save moves that pointer, and the next start takes the
    trained model for the one to begin with.
    """
    load, save = "mindspeed_rl.load_params_path", "mindspeed_rl.save_params_path"
    if facts["train_backend"] == "mindspeed_rl" and _same_folder(facts[load], facts[save]):
        message = "the same folder as load_params_path: after the first save the next start begins from that one"
        yield Problem(save, message, "a folder of its own for save_params_path")


@rule(RESUMING, "ARL267", "Trained model that the run does not go on from", "warning")
def begins_again(facts: Facts) -> Iterator[Problem]:
    """MindSpeed-RL goes on only from `load_params_path`; what lies in `save_params_path` it writes over.

    To train on, name the trained model's folder in `load_params_path` and save elsewhere. To begin again, save to an
    empty folder, so that steps of two runs do not mix.
    """
    if facts["train_backend"] != "mindspeed_rl" or not trains(facts):
        return
    done, load, save = facts["@checkpoint.step"], facts["mindspeed_rl.load_params_path"], facts["@checkpoint.path"]
    if not _same_folder(load, save):
        message = f"{save} holds a checkpoint of step {show(done)}, but the run begins again from load_params_path"
        hint = f"an empty folder; or load_params_path: {save} and save_params_path: another folder"
        yield Problem("mindspeed_rl.save_params_path", message, hint)


def _same_folder(one: str, other: str) -> bool:
    return PurePosixPath(one) == PurePosixPath(other)


def _path(facts: Facts, fact: str = "@checkpoint.path") -> str:
    """A path below the current folder, from `checkpoints/` on, as the documentation writes it."""
    path = str(facts[fact])
    return path[path.rfind("/checkpoints/") + 1 :]


def _listed(found: tuple[int, ...]) -> str:
    newest = f"global_step_{found[-1]}"
    return newest if len(found) == 1 else f"{show(len(found))} checkpoints up to {newest}"
