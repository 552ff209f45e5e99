"""The whole flat format as one typed model."""

from __future__ import annotations

from agentic_rl.config.flat.extensions import OwnKeys, UndocumentedKeys
from agentic_rl.config.flat.inference import InferenceKeys
from agentic_rl.config.flat.learning import LearningKeys
from agentic_rl.config.flat.local import LocalSection
from agentic_rl.config.flat.mindspeed_rl import MindSpeedSection
from agentic_rl.config.flat.run import RunKeys
from agentic_rl.config.flat.verl import VerlSection

Section = VerlSection | MindSpeedSection | LocalSection


class FlatConfig(UndocumentedKeys, OwnKeys, LearningKeys, InferenceKeys, RunKeys):
    """A configuration in the flat format: the shared keys, and one section for each backend.

    Pydantic lists the fields of the last base first, so the bases stand in reverse order.
    """

    verl: VerlSection | None = None
    """Keys of the backend verl."""
    mindspeed_rl: MindSpeedSection | None = None
    """Keys of the backend MindSpeed-RL."""
    local: LocalSection | None = None
    """Keys of the embedded backend."""

    @property
    def section(self) -> Section:
        """The section of `train_backend`.

        Raises:
            LookupError: the configuration has no such section (a checked one always does).
        """
        section: Section | None = getattr(self, self.train_backend)
        if section is None:
            raise LookupError(f"no section {self.train_backend}")
        return section

    @property
    def evaluates_only(self) -> bool:
        """Whether the run evaluates without training: `test_only`, or `val_only` of the section."""
        return self.test_only or bool(getattr(self.section, "val_only", False))

    @property
    def evaluates_before_training(self) -> bool:
        """Whether the untrained model is evaluated: `test_before_train`, or `val_before_train` of the section."""
        return self.test_before_train or bool(getattr(self.section, "val_before_train", False))
