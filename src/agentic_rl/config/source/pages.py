"""The pages of the reader's codes (`agentic-rl explain ARL001` to `ARL018`)."""

from __future__ import annotations

from agentic_rl.config.rules import describe

describe(
    "ARL001",
    "The file can't be read",
    "error",
    """
There is no such file, it is not a regular file (a folder, a pipe, a device), or you may not read it. A relative path
is relative to the folder that the command runs in.
""",
)
describe(
    "ARL002",
    "Too much for a configuration",
    "error",
    """
A configuration is at most 1 MiB, nests at most 64 levels deep and holds at most 50,000 keys and values, aliases
expanded. What is above that is data, or a file made to exhaust its reader; it is refused before it costs anything.
""",
)
describe(
    "ARL003",
    "Not UTF-8 text",
    "error",
    """
A configuration is UTF-8 text, with or without a byte order mark. Control characters may not stand in it. Editors
save as UTF-8 when asked; `iconv -f GB18030 -t UTF-8 old.yaml > new.yaml` converts.
""",
)
describe(
    "ARL004",
    "Not valid YAML",
    "error",
    """
The text breaks YAML's syntax. Usual causes: a tab in the indentation, no space after a colon, a quote or bracket that
is never closed, a key indented by a different number of spaces than its neighbours.
""",
)
describe(
    "ARL005",
    "A key is written twice",
    "error",
    """
YAML readers keep the last of two equal keys in silence, so one of the two values would have no effect. The finding
names both places; keep one.
""",
)
describe(
    "ARL006",
    "Empty, or not a list of keys",
    "error",
    """
At its top a configuration is a mapping: `key: value`, one a line. This file is empty, or holds a list or a single
value.
""",
)
describe(
    "ARL007",
    "Several documents in one file",
    "error",
    """
A line of `---` begins a new YAML document. A configuration is one document; only the first was read.
""",
)
describe(
    "ARL008",
    "A tag",
    "error",
    """
Tags (`!name`, `!!python/...`) make objects of other kinds. A configuration holds plain values only; `!!str`, `!!int`,
`!!float`, `!!bool` and `!!null` are read where the value fits them.
""",
)
describe(
    "ARL009",
    "A key that is not text",
    "error",
    """
YAML reads an unquoted `1`, `yes`, `on` or nothing before a colon as a number, a boolean or null, and brackets as a
list. Keys are text.
""",
)
describe(
    "ARL010",
    "A number that can be read in two ways",
    "error",
    """
`010` is 8 to a YAML 1.1 reader and 10 to a YAML 1.2 reader; `1e999` becomes infinity. The reader doesn't choose: write
the number that is meant, or quote the text.
""",
)
describe(
    "ARL011",
    "An alias or merge key without its anchor",
    "error",
    """
`*name` repeats the value marked `&name` above it, and `<<: *name` merges the section marked so. The name must stand
above, outside the value itself, and for `<<` on a section. A text that begins with `*` or `&` is quoted.
""",
)
describe(
    "ARL012",
    "An override that can't be read",
    "error",
    """
An override is `key=value`, keys of sections with dots: `lr=1e-5`, `verl.train_batch_size=16`. In the environment it is
`AGENTIC_RL__LR=1e-5`, `AGENTIC_RL__VERL__TRAIN_BATCH_SIZE=16`. Values are read as in the file: numbers, booleans, text,
lists in brackets. Each key is set once per place; the command line wins over the environment, both over the file.
A variable that begins with one underscore (`AGENTIC_RL_LR`) sets nothing; a note says so.
""",
)
describe(
    "ARL013",
    "An override that doesn't fit the file's sections",
    "error",
    """
A section is not one value: its keys are set one by one (`verl.nnodes=2`). And a key that holds a value has no keys
below it.
""",
)
describe(
    "ARL014",
    "A format that this version does not read yet",
    "error",
    """
The keys are those of the instances format (`agentic_ai`, `train_instances`, ...) or of RLinf (`cluster`, `runner`,
...). This version reads the flat format.
""",
)
describe(
    "ARL015",
    "Files were not looked at",
    "note",
    """
With `--no-files` (an editor, a commit hook, another machine) the paths of the configuration are not opened. The note
lists them. What the text of a path shows (it is relative, it begins with `~`) is reported all the same. Training always
looks.
""",
)
describe(
    "ARL016",
    "A dot in a key",
    "error",
    """
Findings and overrides write `verl.lr` for the key `lr` in the section `verl`. In YAML the dot is part of the name:
write `verl:` and, indented below it, `lr:`.
""",
)
