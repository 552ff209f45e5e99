"""The inference YAML: the servers that answer rollouts where training and inference have machines of their own."""

from __future__ import annotations

import os
from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError

from agentic_rl.config.aura import cluster_pages as pages
from agentic_rl.config.diagnostics import Finding, Place
from agentic_rl.config.fields.broken import Broken
from agentic_rl.config.fields.level import Level
from agentic_rl.config.fields.shape import Shape, shape_of
from agentic_rl.config.fields.values import judge
from agentic_rl.config.fields.wording import show
from agentic_rl.config.rules import Page
from agentic_rl.config.secure_paths.text import shown
from agentic_rl.config.source import Document, parse, read
from agentic_rl.config.types import AnyPath, NonNegativeInt, PositiveFraction, PositiveInt, RuleText, Text

TELLING = ("infer_model_name", "infer_model_path", "infer_mode_path")
"""Keys by which an inference YAML is known."""
SPELLINGS = {"infer_mode_path": "infer_model_path", "use_pd_separate": "pd_mode"}
RELEASED = frozenset(
    (
        "enable_sp",
        "enable_tensor_similarity_check",
        "enable_vllm_stat",
        "expert_parallel_size",
        "if_waiting",
        "use_vllm_opt",
        "vllm_ascend_enable_flashcomm",
        "vllm_ascend_enable_flashcomm1",
    )
)
"""Keys of published files that have no effect here."""

Name = Annotated[Text, Field(min_length=1, max_length=1024)]
Sizes = Annotated[list[PositiveInt], RuleText("a list of whole numbers greater than 0")]
GraphMode = Literal["NONE", "PIECEWISE", "FULL", "FULL_DECODE_ONLY", "FULL_AND_PIECEWISE"]


class InferenceConfig(Level):
    """One set of servers of one model."""

    infer_model_name: Name
    """The name by which requests ask for the model."""
    infer_model_path: AnyPath
    """The policy's model folder."""
    vllm_version: Text | None = None
    """The vLLM for which the values were chosen."""
    pd_mode: Annotated[int, Field(ge=0, le=1)] = 0
    """1: prefill and decode in instances of their own."""
    prefill_instance_count: PositiveInt = 1
    """Instances for prefill; without `pd_mode` those that do both."""
    decode_instance_count: NonNegativeInt = 0
    """Instances for decode; 0 without `pd_mode`."""
    tensor_parallel_size: NonNegativeInt = 1
    """Devices that share one copy of the model; 0: filled in at launch."""
    data_parallel_size: NonNegativeInt = 1
    """Copies of the model in one instance; 0: filled in at launch."""
    max_model_len: PositiveInt | None = None
    """Tokens of prompt and answer together."""
    max_num_batched_tokens: PositiveInt | None = None
    """Tokens of one step of an instance."""
    gpu_memory_utilization: PositiveFraction | None = None
    """Share of a device's memory that the engine takes."""
    max_num_seqs: PositiveInt | None = None
    """Sequences of one step of an instance."""
    enable_expert_parallel: bool = False
    """Experts of a mixture spread over the devices."""
    kv_backend: Literal["mooncake", "llmdatadist"] | None = None
    """What carries the cache from prefill to decode instances; with `pd_mode` only."""
    cudagraph_mode: GraphMode | None = None
    """How steps are captured as graphs."""
    cudagraph_capture_sizes: Sizes | None = None
    """Batch sizes that are captured."""
    tool_call_enable: bool = False
    """The servers themselves parse tool calls."""

    @property
    def instances(self) -> int:
        """Server instances of both kinds."""
        return self.prefill_instance_count + self.decode_instance_count

    @property
    def devices(self) -> int | None:
        """Devices of all instances together; None where a size is filled in at launch."""
        return self.instances * self.tensor_parallel_size * self.data_parallel_size or None


@dataclass(frozen=True)
class InferenceFile:
    """An inference YAML as far as it could be read."""

    document: Document
    config: InferenceConfig | None = None
    """None where a value is missing or wrong."""
    findings: list[Finding] = field(default_factory=list)
    values: Mapping[str, Any] = field(default_factory=dict)
    """The values that validated, defaults included."""

    @property
    def file(self) -> str:
        """The name by which it was read."""
        return self.document.file

    def place(self, key: str) -> Place:
        """Where `key` stands, or where it would: at the beginning of the file."""
        return self.document.places.get(key, Place(self.file, 1, 1))


def is_inference(keys: Container[str]) -> bool:
    """Whether the keys of a YAML file are those of an inference YAML."""
    return any(key in keys for key in TELLING)


def read_inference(path: str | os.PathLike[str], *, files: bool = True) -> InferenceFile:
    """Read an inference YAML. Bad input gives findings, never an exception.

    Without `files` the model's folder is not looked at.
    """
    return inference_of(read(path), files=files)


def parse_inference(content: str | bytes, file: str = "infer.yaml", *, files: bool = False) -> InferenceFile:
    """Read the content of an inference YAML; `file` is the name that findings give as its place."""
    return inference_of(parse(content, file), files=files)


def inference_of(document: Document, *, files: bool = True) -> InferenceFile:
    """Check an inference YAML that was read already."""
    if not document.whole:
        return InferenceFile(document, findings=list(document.findings))
    return _Reading(document).result(files)


class _Reading:
    """One document on its way to a configuration."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._findings = list(document.findings)
        self._written_as: dict[str, str] = {}
        self._values: dict[str, Any] = {}

    def result(self, files: bool) -> InferenceFile:
        tree = self._known(self._document.tree)
        config = self._validated(tree)
        for relation in _RELATIONS:
            relation(self._values, self._report)
        if files and "infer_model_path" in self._values:
            _check_model(self._values["infer_model_path"], self._report)
        broken = any(one.severity == "error" for one in self._findings)
        return InferenceFile(self._document, None if broken else config, self._findings, self._values)

    def _report(self, page: Page, key: str, message: str, hint: str = "") -> None:
        written = self._written_as.get(key, key)
        base = written.partition("[")[0]
        places = self._document.places
        place = places.get(written) or places.get(base) or Place(self._document.file, 1, 1)
        self._findings.append(
            Finding(page.code, page.severity, written, message, hint, place.file, place.line, place.column)
        )

    def _known(self, tree: Mapping[str, Any]) -> dict[str, Any]:
        """The values of the keys that there are, by their names; about the others something is said."""
        known = {key: value for key, value in tree.items() if key in InferenceConfig.model_fields}
        for key in [key for key in tree if key not in known]:
            real = SPELLINGS.get(key)
            if real and real not in known:
                self._report(pages.INFER_SPELLING, key, f"read as {real}")
                self._written_as[real] = key
                value = tree[key]
                known[real] = int(value) if real == "pd_mode" and isinstance(value, bool) else value
            elif real:
                self._report(pages.INFER_KEY, key, f"another spelling of {real}, which is written too", f"remove {key}")
            elif key in RELEASED:
                self._report(pages.INFER_RELEASED, key, "has no effect: the servers are started without it")
            else:
                self._unknown(key)
        return known

    def _unknown(self, key: str) -> None:
        near = get_close_matches(key.lower().replace("-", "_"), InferenceConfig.model_fields, n=1, cutoff=0.7)
        hint = f"did you mean {near[0]}?" if near else "remove it"
        self._report(pages.INFER_KEY, key, f"an inference YAML has no key {show(key)}; it has no effect", hint)

    def _validated(self, tree: Mapping[str, Any]) -> InferenceConfig | None:
        defaults = {name: info.default for name, info in InferenceConfig.model_fields.items() if not info.is_required()}
        try:
            config = InferenceConfig.model_validate(tree)
        except ValidationError as error:
            problems = error.errors(include_url=False)
            self._values = {**defaults, **tree}
            for problem in problems:
                self._values.pop(str(problem["loc"][0]), None)
                self._refused(problem["loc"], problem["type"], problem["input"])
            return None
        self._values = config.model_dump()
        return config

    def _refused(self, loc: tuple[int | str, ...], kind: str, value: Any) -> None:
        key = str(loc[0])
        if kind == "missing":
            hint = f"write {key}: ..." if key == "infer_model_name" else f"write {key}: /path/to/the/model"
            self._report(pages.INFER_MISSING, key, f"{key} is missing; an inference YAML needs it", hint)
            return
        if self._written_as.get(key, key) in self._document.flawed:
            return
        info = InferenceConfig.model_fields[key]
        shape, dotted = (shape_of(info), key) if len(loc) == 1 else (Shape("int", gt=0), f"{key}[{loc[1]}]")
        default = None if info.is_required() else info.default
        verdict = judge(Broken(key, value, shape, kind, default))
        hint = verdict.hint if dotted == key else f"write whole numbers greater than 0: {key}: [8, 16]"
        self._report(verdict.page, dotted, verdict.message, hint)


Report = Callable[..., None]


def _check_instances(values: Mapping[str, Any], report: Report) -> None:
    decode, mode = values.get("decode_instance_count"), values.get("pd_mode")
    if mode == 1 and decode == 0:
        message = "no decode instance; with pd_mode 1 prefill and decode have instances of their own"
        report(pages.INSTANCES, "decode_instance_count", message, "decode_instance_count: 1 (or more), or pd_mode: 0")
    elif mode == 0 and decode:
        message = f"{decode} decode instances; without pd_mode every instance does both"
        hint = "decode_instance_count: 0, or pd_mode: 1"
        report(pages.INSTANCES, "decode_instance_count", message, hint)


def _check_version(values: Mapping[str, Any], report: Report) -> None:
    wanted = values.get("vllm_version")
    try:
        present = version("vllm")
    except PackageNotFoundError:
        return
    if wanted and present.partition("+")[0] != wanted:
        message = f"{wanted}, but vLLM {present} is installed here, and the servers run with it"
        report(pages.VLLM_VERSION, "vllm_version", message, f"write {present.partition('+')[0]} after trying it")


def _check_backend(values: Mapping[str, Any], report: Report) -> None:
    if values.get("kv_backend") and values.get("pd_mode") == 0:
        report(pages.UNUSED_PD, "kv_backend", "not used without pd_mode: 1")


_RELATIONS = (_check_instances, _check_version, _check_backend)


def _check_model(path: str, report: Report) -> None:
    hint = "write the path of the policy's model folder"
    try:
        folder = Path(path)
        if not folder.is_dir():
            what = "is a file, not a folder" if folder.is_file() else "does not exist"
            report(pages.MODEL_PATH, "infer_model_path", f"{shown(path)} {what}", hint)
            return
        names = {entry.name for entry in folder.iterdir()}
    except (OSError, ValueError):
        report(pages.MODEL_PATH, "infer_model_path", f"{shown(path)} can't be read", hint)
        return
    lacking = [] if "config.json" in names else ["config.json"]
    if not any(name.endswith((".safetensors", ".bin")) for name in names):
        lacking.append("weights (*.safetensors)")
    if lacking:
        report(pages.MODEL_PATH, "infer_model_path", f"{shown(path)} lacks {' and '.join(lacking)}", hint)
