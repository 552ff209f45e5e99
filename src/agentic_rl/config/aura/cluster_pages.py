"""The numbered pages about hosts.conf, base.conf, the inference YAML, and the three together (ARL600 to ARL649)."""

from __future__ import annotations

from agentic_rl.config.rules import describe

ROW = describe(
    "ARL600",
    "Row of hosts.conf has other columns",
    "error",
    "A row is `host,index,train_master_index` and, where wanted, `,infer_master_index`: three or four values with "
    "commas between them. Comment lines begin with `#`.",
)
HOST = describe(
    "ARL601",
    "Host is no address of a node",
    "error",
    "Every node finds its own row by its addresses, so the first column holds an address or a host name of that one "
    "machine: no placeholder, no port, no `0.0.0.0`, and no loopback address where there are several nodes.",
)
HOST_TWICE = describe(
    "ARL602",
    "Host stands in two rows",
    "error",
    "A machine that finds itself in two rows would have two roles. One machine, one row.",
)
INDEX = describe(
    "ARL603",
    "Indexes are not 0, 1, 2, ... in row order",
    "error",
    "The index of a node is the number of its row, from 0, without gaps and repeats. Shell launchers take the training "
    "master's address by the position of its row, so rows in another order point every node to the wrong machine.",
)
FLAG = describe(
    "ARL604",
    "Flag of hosts.conf is neither 0 nor 1",
    "error",
    "`train_master_index` and `infer_master_index` are flags: 1 on the node that starts the job of that kind, 0 on the "
    "others. They are no indexes of other rows.",
)
TRAIN_MASTER = describe(
    "ARL605",
    "Not exactly one training master",
    "error",
    "Exactly one node has `train_master_index` 1: it starts the training job. Without one nothing trains; with two, "
    "two jobs train.",
)
NO_NODES = describe(
    "ARL606",
    "hosts.conf lists no node",
    "error",
    "Every machine of the run has a row in hosts.conf, the only one too.",
)
LINE = describe(
    "ARL607",
    "Line of base.conf is no KEY=VALUE",
    "error",
    "base.conf holds one `KEY=VALUE` a line, and comment lines that begin with `#`. It is no YAML and has no sections.",
)
SHELL_TEXT = describe(
    "ARL608",
    "Shell launchers would read another value",
    "warning",
    "Start scripts that read hosts.conf and base.conf with `grep` and `cut` take what stands behind `KEY=` at the "
    "beginning of a line: with a space before `=`, or before the key, they read no value; a comment behind the value "
    "they take for a part of it. Here the line is read as it is meant.",
)
UNKNOWN_KEY = describe(
    "ARL609",
    "Key of base.conf is not known",
    "warning",
    "base.conf has the keys `work_mode`, `train_config_name`, `infer_config_name`, `monitor_cmd`, `max_retries` and "
    "`clean_old_ckpt`. Another one has no effect.",
)
KEY_TWICE = describe(
    "ARL610",
    "Key of base.conf is written twice",
    "error",
    "Shell launchers join both values into one. Keep one line, and put `#` before the alternatives.",
)
MISSING = describe(
    "ARL611",
    "Value of base.conf is missing",
    "error",
    "`work_mode` and `train_config_name` are needed always, `infer_config_name` with `work_mode=one_step_off`.",
)
VALUE = describe(
    "ARL612",
    "Value of base.conf is not allowed",
    "error",
    "`work_mode` is `hybrid` or `one_step_off`, `max_retries` a whole number of at least 0, `clean_old_ckpt` 0 or 1.",
)
SUFFIX = describe(
    "ARL613",
    "Configuration is named with its ending",
    "warning",
    "The names in base.conf stand without `.yaml`: shell launchers append it, and would look for `NAME.yaml.yaml`. "
    "Here the file is read that is meant.",
)
RELEASED = describe(
    "ARL614",
    "Name released since the documentation",
    "note",
    "The name is not on the documented page; it was released later, and is accepted.",
)
UNUSED = describe(
    "ARL615",
    "Value of base.conf has no effect",
    "note",
    "In hybrid mode training and inference share one machine and one configuration; `infer_config_name` is not read.",
)
INFER_KEY = describe(
    "ARL616",
    "Key of the inference YAML is not known",
    "warning",
    "The inference YAML names the model and the sizes of the servers that one_step_off starts. A key that is not one "
    "of them has no effect.",
)
INFER_RELEASED = describe(
    "ARL617",
    "Key of the inference YAML is released, and has no effect here",
    "note",
    "Published inference YAMLs hold switches of one vLLM build (statistics, communication on NPUs, ...). They are "
    "accepted so that existing files work; the servers are started without them.",
)
INFER_SPELLING = describe(
    "ARL618",
    "Other spelling of a key of the inference YAML",
    "note",
    "Published files spell the key in this way, too: `infer_mode_path` for `infer_model_path`, `use_pd_separate` for "
    "`pd_mode`. It is read as the other.",
)
INFER_MISSING = describe(
    "ARL619",
    "Value of the inference YAML is missing",
    "error",
    "An inference YAML names at least the policy: `infer_model_name`, the name by which requests ask for it, and "
    "`infer_model_path`, the folder with its weights.",
)
INSTANCES = describe(
    "ARL620",
    "Numbers of prefill and decode instances don't fit pd_mode",
    "error",
    "With `pd_mode: 1` prefill and decode run in instances of their own, at least one of each. Without it every "
    "instance does both, and `decode_instance_count` is 0.",
)
VLLM_VERSION = describe(
    "ARL621",
    "Another vLLM is installed",
    "warning",
    "`vllm_version` says for which vLLM the values were chosen. The servers run with the installed one; defaults and "
    "options differ between versions.",
)
MODEL_PATH = describe(
    "ARL622",
    "Model of the inference YAML is not there",
    "error",
    "`infer_model_path` is the folder of the policy: `config.json`, the tokenizer and the weights. The servers load it "
    "before the first step.",
)
UNUSED_PD = describe(
    "ARL623",
    "Value of the inference YAML has no effect",
    "note",
    "`kv_backend` carries the cache from prefill to decode instances, so without `pd_mode: 1` it is not used.",
)
NO_SET = describe(
    "ARL641",
    "No hosts.conf and no base.conf",
    "error",
    "A set of files is known by its hosts.conf and its base.conf; in this folder there is neither. The YAML files are "
    "found through the names in base.conf.",
)
NOT_FOUND = describe(
    "ARL642",
    "Configuration that base.conf names is not there",
    "error",
    "`train_config_name` and `infer_config_name` name YAML files beside base.conf, or in the folders `train/` and "
    "`infer/` below it, without their ending.",
)
OTHER_FORMAT = describe(
    "ARL643",
    "Training configuration is of another format",
    "error",
    "`train_config_name` names a YAML file of the instances format: it has `agentic_ai`, `train_instances` and their "
    "kin. A flat configuration is started without base.conf: `agentic-rl --config-path FILE`.",
)
ALONE = describe(
    "ARL644",
    "File of a set stands alone",
    "note",
    "hosts.conf and base.conf belong together: the mode in one and the nodes in the other must fit. Where one is not "
    "there, only what the other says by itself is checked.",
)
