"""The numbered pages about data files (ARL420-425, ARL450-456, ARL465-468)."""

from __future__ import annotations

from agentic_rl.config.rules import describe

UNREADABLE_DATA = describe(
    "ARL420",
    "Data file is not a readable parquet file",
    "error",
    "`train_files` and `val_files` are parquet files in verl's layout, one task a row. The file could be opened but "
    "is not parquet, is cut off, or its footer contradicts what it holds. Write it again, for example with "
    "`pyarrow.parquet.write_table`.",
)
MISSING_COLUMN = describe(
    "ARL421",
    "Data file lacks a column",
    "error",
    "A task needs `prompt` (a list of chat messages with `role` and `content`) and `reward_model` (a struct with "
    "`ground_truth`); `data_source` and `extra_info` are read where they are there. Raw data sets such as GSM8K "
    "(`question`, `answer`) have to be converted first. A file for the supervised warm-up needs `messages`.",
)
WRONG_COLUMN_TYPE = describe(
    "ARL422",
    "Column of a data file has another type",
    "error",
    "`prompt` is a list of structs with the text fields `role` and `content`, `reward_model` is a struct that has "
    "`ground_truth`, `data_source` is text, `extra_info` is a struct. A prompt that is plain text becomes "
    '`[{"role": "user", "content": text}]`.',
)
NO_ROWS = describe(
    "ARL423",
    "Data file without rows",
    "error",
    "The file has the right columns and not one row. A filter that kept nothing, or a split of the wrong name, is the "
    "usual cause.",
)
NO_DATA_SOURCE = describe(
    "ARL424",
    "Data file without data_source",
    "warning",
    "`data_source` names the origin of a task. Where it is missing or empty the evaluation reports one mean over "
    "everything and no mean for each source, and reward functions that are chosen by it find none.",
)
EMPTY_PROMPT = describe(
    "ARL425",
    "Row without a usable prompt",
    "error",
    "Each prompt is a list of at least one message, each message has a `role` and a `content`. Remove or repair "
    "the rows named. In large files a spread sample of the rows is looked at.",
)
NOT_DECODED = describe(
    "ARL450",
    "Data file too unwieldy to look into",
    "note",
    "Checking decodes pages of up to 64 MB and parts of up to 20 million values. The file promises more, so its "
    "columns were checked and its rows were not. Files written with usual settings have pages of about 1 MB.",
)
UNREADABLE_JSON = describe(
    "ARL452",
    "Data file is not readable as JSON",
    "error",
    "`data_path` of mindspeed_rl is a JSON file (a list of objects), a JSONL file (an object a line), or the prefix of "
    "preprocessed files. The first rows of this file are no JSON objects.",
)
MISSING_KEY = describe(
    "ARL453",
    "dataset_additional_keys names a column that is not there",
    "error",
    "Every item of `dataset_additional_keys` is read from each row of `data_path` and given to the agent. The first "
    "rows lack this one. Preprocessed data have a pair of files for each column, `PREFIX_packed_COLUMN_document.bin` "
    "and `.idx`; there a missing pair is a warning, since they may be made before the run.",
)
NOT_PACKED = describe(
    "ARL454",
    "No preprocessed data under the prefix",
    "error",
    "The files that begin with `data_path` are none that MindSpeed-RL's preprocessing writes: for each column a pair "
    "`PREFIX_packed_COLUMN_document.bin` and `.idx`. An empty `.bin` or `.idx`, or one without the other, is a "
    "preprocessing that did not end.",
)
NOT_JSON = describe(
    "ARL465",
    "Data file of a kind that mindspeed_rl does not read",
    "error",
    "`data_path` and `test_data_path` of mindspeed_rl name a file that ends in `.json` (a list of objects) or `.jsonl` "
    "(an object a line), or the common beginning of preprocessed files. Parquet files are for `verl` and `local`; "
    'write the rows as JSONL, for example with `to_json(path, orient="records", lines=True)` of pandas.',
)
UNKNOWN_ROLE = describe(
    "ARL467",
    "Message of an unknown role",
    "warning",
    "The roles of messages are `system`, `user`, `assistant` and `tool` (a few models know `developer`). What a chat "
    "template does with another one is its own affair: many leave such a message out, so that the policy never sees "
    "it, others raise an exception. Correct the role in the data.",
)
NO_ANSWERS = describe(
    "ARL468",
    "Data file without a ground truth",
    "warning",
    "`reward_model.ground_truth` is what replies are compared with, and it is null in every row: a reward that "
    "compares is zero throughout and nothing is learned. A column that was renamed or lost in converting is the "
    "usual cause.",
)
