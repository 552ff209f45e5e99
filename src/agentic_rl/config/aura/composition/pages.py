"""Codes of the composition: references, templates and what they replace."""

from __future__ import annotations

from agentic_rl.config.rules import describe

REFERENCE = describe(
    "ARL033",
    "Reference that gives no value",
    "error",
    "`${agent_instances.0.name}` names a key from the top of the file, items of lists by their number from 0; "
    "`${.name}` one beside the key that holds the reference, each further dot one level further up. "
    "`${oc.env:NAME}` is a variable of the environment, `${hydra:runtime.cwd}` the current folder. The key that holds "
    "the reference is left out of what is checked.",
)
NOT_FOUND = describe(
    "ARL034",
    "Template that is nowhere",
    "warning",
    "Items of `defaults` name templates in the folders of `hydra.searchpath`, below the file's own folder, or in the "
    "installed verl. Where a template is in none of them, what the file says itself is checked alone.",
)
NOT_IN_GROUP = describe(
    "ARL035",
    "Template that is missing in its folder",
    "error",
    "`- msrl_conf: NAME` composes `msrl_conf/NAME.yaml` beside the file. The folder is there, the template is not.",
)
OF_VERL = describe(
    "ARL036",
    "Templates of the installed verl",
    "note",
    "The folder that `hydra.searchpath` names is not there, so that verl's templates are those of the installed verl.",
)
REFUSED = describe(
    "ARL037",
    "Templates that can't be composed",
    "error",
    "`defaults` is a list of `NAME`, `NAME@SECTION`, `GROUP: NAME` and `_self_`, as Hydra composes it: each template "
    "is laid over those above it, and `_self_` stands for the file itself, which comes last where there is none.",
)
REPLACED = describe(
    "ARL038",
    "Value that a template replaces",
    "warning",
    "What stands below `_self_` in `defaults` wins over the file, which `_self_` stands for. Write `- _self_` as the "
    "last item.",
)
NO_HYDRA = describe(
    "ARL039",
    "Templates were not composed",
    "warning",
    "Templates are composed by hydra-core, which is not installed. What the file says itself is checked alone.",
)
NATIVE_KEY = describe(
    "ARL040",
    "Key that verl does not have",
    "warning",
    "Keys of `verl_conf` that the format does not document are verl's own. Most that verl lacks are ignored without a "
    "word, or refused when workers are built. They are compared with the installed verl, or, where none is installed, "
    "with the keys of verl 0.9.1.",
)
NATIVE_KIND = describe(
    "ARL041",
    "Value of another kind than verl's",
    "error",
    "verl reads a section where the file has one value, or the reverse, or a number where it has text.",
)
TEMPLATE_DIFFERS = describe(
    "ARL042",
    "Template and documentation differ",
    "note",
    "For what nobody wrote, a template's value holds, and the documented default only where no template has one.",
)
