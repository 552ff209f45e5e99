"""The numbered pages about the rows of data files (ARL470-478), reported by `agentic-rl data`."""

from __future__ import annotations

from agentic_rl.config.rules import describe

UNREADABLE_ROW = describe(
    "ARL470",
    "Row of a data file can't be read",
    "error",
    "A row is an object of JSON, one a line in a JSONL file. This one is cut off, is something else than an object, or "
    "holds half of a surrogate pair, which is no text. `agentic-rl data prepare --skip-bad` leaves such rows out.",
)
NO_COLUMN = describe(
    "ARL471",
    "No column of questions or answers found",
    "error",
    "`agentic-rl data prepare` looks for the questions and the answers in columns of the usual names (`question`, "
    "`problem`, `prompt`, ...; `answer`, `ground_truth`, `solution`, `golden_answers`, ...). This file has none of "
    "them. Name the column with `--question` or `--answer`; `reward_model.ground_truth` names a field of a column.",
)
BAD_ROW = describe(
    "ARL472",
    "Row without a usable question or answer",
    "error",
    "A task needs a question that is text, or a list of chat messages, and an answer that a reply can be compared "
    "with: for mathematics a short text or a number, or a solution that ends in `\\boxed{...}` or `#### ...`; for "
    "search one or several short texts. Repair the row, or leave it out with `--skip-bad`.",
)
REPEATED = describe(
    "ARL473",
    "Prompt that stands in a file more than once",
    "warning",
    "Repeated prompts count more than others, in training and in the evaluation. Where their answers differ, one of "
    "them is wrong. Remove the repetitions.",
)
SHARED = describe(
    "ARL474",
    "Prompt of one file that stands in another",
    "warning",
    "A prompt that is trained on says nothing about new ones when it is evaluated. `agentic-rl data prepare` never "
    "divides equal prompts between the two files that it makes of one; here the rows come from different files. Remove "
    "them from one of the two.",
)
ODD_ROLES = describe(
    "ARL475",
    "Messages in an order that chat templates do not expect",
    "warning",
    "A prompt begins with at most one system message, has a user's message, and does not end with the assistant's, "
    "since the policy's reply comes next. Many chat templates raise an exception at "
    "anything else, or leave a part out.",
)
OVERLONG = describe(
    "ARL476",
    "Prompt longer than --max-prompt-length",
    "error",
    "The prompt has more tokens, with the chat template, than `max_prompt_length` allows, so its rollout would fail "
    "(or be cut, see `truncation`). Tools that the agent describes to the policy come in addition. Remove the row or "
    "raise the limit.",
)
MIXED_ANSWERS = describe(
    "ARL477",
    "Ground truths of different types",
    "error",
    "A column of a parquet file has one type, so `reward_model.ground_truth` can't be text in one row and a number in "
    "another; a reward would also compare them differently. Write all as text.",
)
NO_ANSWER = describe(
    "ARL478",
    "Row without a ground truth",
    "warning",
    "`reward_model.ground_truth` is null or empty in this row, and in others it is not. A reward that compares is zero "
    "for it, whatever the policy answers. Write the answer, or remove the row.",
)
