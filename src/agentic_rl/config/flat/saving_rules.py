"""What is saved, and when (ARL255-258)."""

from __future__ import annotations

from collections.abc import Iterator

from agentic_rl.config.diagnostics import Severity
from agentic_rl.config.fields.wording import show
from agentic_rl.config.flat.in_force import key_of, origin, steps, told, trains, wrote_any
from agentic_rl.config.rules import Facts, Problem, Rule, rule

SAVING: list[Rule] = []
STEP_SAVING: list[Rule] = []
"""Rules that need the number of steps or the folders that are written."""

WORTH_KEEPING = 50
"""Steps whose loss is worth a warning; a shorter run is as well repeated."""
RESUMED = {"model": "the weights", "optimizer": "the optimizer's state", "extra": "schedule and random states"}


@rule(SAVING, "ARL255", "Steps that are in no checkpoint", "warning")
def unsaved_steps(facts: Facts) -> Iterator[Problem]:
    """MindSpeed-RL saves after every `save_interval` steps and not at the end, unlike verl and `local`.

    What `train_iters` has after the last multiple of `save_interval` is trained and lost; with a larger interval than
    the run has steps nothing is saved at all. The documented defaults, 1000 and 1, are such a pair.
    """
    keys = ("mindspeed_rl.save_interval", "mindspeed_rl.train_iters")
    if facts["train_backend"] != "mindspeed_rl" or not trains(facts):
        return
    interval, total = (facts[key] for key in keys)
    lost = total % interval
    if not lost:
        return
    message = f"{show(interval)} steps{origin(facts, keys[0])}, but {told(facts, keys[1])}: "
    message += "nothing is saved" if interval > total else f"the last {_steps(lost)} in no checkpoint"
    message += ", since MindSpeed-RL does not save at the end"
    severity: Severity = "warning" if wrote_any(facts, keys) else "note"
    hint = f"save_interval: {show(_nearest_divisor(total, interval))}"
    hint += f", or train_iters: {show(total - lost)}" if interval < total else ""
    yield Problem(keys[0], message, hint, severity)


@rule(STEP_SAVING, "ARL256", "Nothing is saved before the end", "warning")
def saved_at_the_end(facts: Facts) -> Iterator[Problem]:
    """A checkpoint of verl and `local` is saved after every `save_freq` steps and after the last one.

    With a larger `save_freq` than the run has steps, a run that stops early has nothing to go on from, though going on
    is what the next start would do. The page's default, 1000, is above the steps of most runs, so write a smaller one.
    In a run of fewer than 50 steps this is a note.
    """
    if facts["train_backend"] == "mindspeed_rl" or not trains(facts):
        return
    key = key_of(facts, "save_freq")
    total, every = steps(facts), facts[key]
    if not 1 < total < every:
        return
    message = f"{show(every)} steps{origin(facts, key)}, but the run has {show(total)} steps: "
    message += "only the last one is saved, and a run that stops early begins again"
    severity: Severity = "warning" if total >= WORTH_KEEPING else "note"
    yield Problem(key, message, f"save_freq: {show(max(1, total // 5))}", severity)


@rule(SAVING, "ARL257", "Checkpoints that a run does not wholly go on from", "warning")
def incomplete_checkpoints(facts: Facts) -> Iterator[Problem]:
    """A run of verl goes on from the newest checkpoint with what `ckpt_content` names, and with nothing else.

    Without `model` a run that goes on counts its steps further but has the weights that it began with. Without
    `optimizer` or `extra` (schedule, random states) it goes on differently than it would have; that is a note.
    `hf_model` is for use elsewhere and is not loaded.
    """
    if facts["train_backend"] != "verl" or not trains(facts):
        return
    content = facts["verl.ckpt_content"]
    lacking = [name for name in RESUMED if name not in content]
    if lacking:
        message = f"without {', '.join(lacking)} a run that goes on begins again with "
        message += ", ".join(RESUMED[name] for name in lacking)
        hint = f"ckpt_content: [{', '.join([*RESUMED, *(name for name in content if name not in RESUMED)])}]"
        yield Problem("verl.ckpt_content", message, hint, None if "model" in lacking else "note")


@rule(STEP_SAVING, "ARL258", "Output folder that can't be written", "warning")
def unwritable_output(facts: Facts) -> Iterator[Problem]:
    """Checkpoints go to `checkpoints/PROJECT/EXPERIMENT` below the current folder, or to `save_params_path`.

    The folder, or the nearest one above it that is there, must be one that this user can write; else the run fails at
    its first checkpoint. Of the current folder this says something only where the run is started here: a warning.
    """
    problem = facts["@output.problem"]
    if facts["train_backend"] == "mindspeed_rl":
        yield Problem("mindspeed_rl.save_params_path", problem, "name a folder that this user owns", "error")
    else:
        key = key_of(facts, "project_name")
        message = f"checkpoints can't be saved below the current folder: {problem}"
        yield Problem(key, message, "start the run in a folder that this user can write")


def _steps(count: int) -> str:
    return f"{show(count)} steps are" if count > 1 else "step is"


def _nearest_divisor(total: int, most: int) -> int:
    """The largest divisor of `total` up to `most`; the search is short, since nobody reads a far one."""
    for part in range(1, 1000):
        if total % part == 0 and total // part <= most:
            return total // part
    return 1
