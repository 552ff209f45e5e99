"""Moments at which a training process kills itself with SIGKILL: each function arms one."""

from __future__ import annotations

import os
import signal

from training_child import before


def in_warmup() -> None:
    from agentic_rl.backends.local.run import Run

    before(Run, "_on_warm_step", 2)


def saving_the_warmup() -> None:
    from agentic_rl.config import manifest

    before(manifest.Manifest, "of", 1)


def in_rollout() -> None:
    from agentic_rl.backends.local.assembly import Roller

    before(Roller, "__call__", 5)  # an evaluation and the steps 1 to 3 come before


def in_update() -> None:
    from agentic_rl.backends.local.learner import Learner

    before(Learner, "update", 4)


def in_optimizer_step() -> None:
    import torch

    before(torch.optim.AdamW, "step", 12)


def in_evaluation() -> None:
    from agentic_rl.backends.local.loop import TrainingLoop

    before(TrainingLoop, "evaluate", 2)


def half_written_checkpoint() -> None:
    from agentic_rl.backends.local import checkpoint

    before(checkpoint.torch, "save", 4)  # optimizer of step 2: model and tokenizer are there


def before_the_manifest() -> None:
    from agentic_rl.config import manifest

    before(manifest.Manifest, "of", 3)


def before_the_rename() -> None:
    from agentic_rl.backends.local import checkpoint_store

    before(checkpoint_store, "rename_folder_into_place", 3)


def before_the_pointer() -> None:
    from agentic_rl.backends.local import checkpoint_store

    before(checkpoint_store, "replace_file", 3)


def removing_an_old_one() -> None:
    from agentic_rl.backends.local import checkpoint_store

    before(checkpoint_store.shutil, "rmtree", 1)


def after_the_last_save() -> None:
    from agentic_rl.tracking import curve

    before(curve, "draw", 1)


KILLS = (
    in_warmup,
    saving_the_warmup,
    in_rollout,
    in_update,
    in_optimizer_step,
    in_evaluation,
    half_written_checkpoint,
    before_the_manifest,
    before_the_rename,
    before_the_pointer,
    removing_an_old_one,
    after_the_last_save,
)


def small_disk() -> None:
    """Let every file larger than 100 kB fail to grow, from the second checkpoint on, as a full disk would."""
    import resource

    from agentic_rl.config import manifest

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, resource.RLIM_INFINITY))

    before(manifest.Manifest, "of", 1, limit)


def interrupt_in_rollout() -> None:
    """Ctrl-C in the rollout of step 4."""
    from agentic_rl.backends.local.assembly import Roller

    before(Roller, "__call__", 6, lambda: os.kill(os.getpid(), signal.SIGINT))


def terminate_in_update() -> None:
    """SIGTERM in the update of step 3."""
    from agentic_rl.backends.local.learner import Learner

    before(Learner, "update", 3, lambda: os.kill(os.getpid(), signal.SIGTERM))


def interrupt_in_warmup() -> None:
    """Ctrl-C in the second step of the warm-up."""
    from agentic_rl.backends.local.run import Run

    before(Run, "_on_warm_step", 2, lambda: os.kill(os.getpid(), signal.SIGINT))


def interrupt_in_last_evaluation() -> None:
    """Ctrl-C in the evaluation after the last step."""
    from agentic_rl.backends.local.assembly import Roller

    before(Roller, "__call__", 9, lambda: os.kill(os.getpid(), signal.SIGINT))


def interrupt_twice() -> None:
    """Ctrl-C twice in the update of step 3."""
    from agentic_rl.backends.local.learner import Learner

    def both() -> None:
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)

    before(Learner, "update", 3, both)


def poison_the_weights() -> None:
    """NaN in one weight before the update of step 3."""
    import gc

    import torch

    from agentic_rl.backends.local.learner import Learner

    def poison() -> None:
        learner = next(thing for thing in gc.get_objects() if isinstance(thing, Learner))
        with torch.no_grad():
            next(learner._model.parameters())[5] = float("nan")

    before(Learner, "update", 3, poison)


def open_umask() -> None:
    os.umask(0)


def closed_umask() -> None:
    os.umask(0o077)
