"""The numbered pages of names and single values (ARL020 to ARL105)."""

from __future__ import annotations

from agentic_rl.config.rules import describe

UNKNOWN_KEY = describe(
    "ARL020",
    "Unknown key",
    "error",
    "No key of this name exists at this level. An unknown key is never ignored: a misspelled one would silently leave "
    "its default in force.",
)
WRONG_LEVEL = describe(
    "ARL021",
    "Key at the wrong level",
    "error",
    "Keys of a backend stand below the section of its name (`verl:`, `mindspeed_rl:`, `local:`), indented; all other "
    "keys stand at the top level.",
)
OLD_NAME = describe(
    "ARL022",
    "Key was renamed",
    "error",
    "The key had this name in an earlier version. Write the new name; the value stays.",
)
ALIAS = describe(
    "ARL023",
    "Another spelling of a key or value",
    "note",
    "The released system and the documentation spell some names differently. Both are read; the documented name is "
    "used from here on.",
)
TWO_SPELLINGS = describe(
    "ARL024",
    "One key written twice under two names",
    "error",
    "The key and its other spelling are both written, with different values; which one is meant can't be known. Keep "
    "one.",
)
UNDOCUMENTED = describe(
    "ARL025",
    "Undocumented key",
    "warning",
    "The released system reads this key, but its documentation does not name it, so it may change without notice.",
)
SECTION = describe(
    "ARL026",
    "Section missing, empty or not a mapping",
    "error",
    "The section of the chosen `train_backend` must be there and hold the backend's keys, indented below its name. "
    "Samples copied from a web page often lose their indentation.",
)
MISSING = describe(
    "ARL027",
    "Required key missing",
    "error",
    "The key has no default that could work. The place shown is where it belongs.",
)
OTHER_SECTION = describe(
    "ARL028",
    "Section of another backend",
    "note",
    "The section belongs to a backend that `train_backend` does not choose. Its values are checked, its files are not "
    "looked at, and it has no effect on the run.",
)
WRONG_TYPE = describe(
    "ARL030",
    "Wrong type of value",
    "error",
    "Values are read strictly: no text for a number, no 1 for true, no list where one value belongs.",
)
NULL = describe(
    "ARL031",
    "Nothing where a value belongs",
    "error",
    "YAML reads a key with nothing after the colon, `null` and `~` as null. Write a value, or leave the key out where "
    "it has a default.",
)
QUOTED = describe(
    "ARL032",
    "Text that looks like another value",
    "error",
    "In quotes, numbers and switches are text; and `None` is always text, for YAML's word is `null`. A quoted 'False' "
    "taken for a switch would even turn it on.",
)
OUT_OF_RANGE = describe(
    "ARL101",
    "Number out of range",
    "error",
    "The documentation gives the key a range; the finding names it, and the reference page lists all of them. Outside "
    "it a backend stops late or trains on nonsense.",
)
NO_CHOICE = describe(
    "ARL102",
    "Not one of the choices",
    "error",
    "The documentation lists the values that the key may have; the finding names them, and the nearest one where a "
    "typing mistake is likely. Capitals count.",
)
BAD_TEXT = describe(
    "ARL103",
    "Text of the wrong form",
    "error",
    "The documentation says how the text is formed: a name of letters, digits and underscores, or the name of one "
    "folder. The finding says which.",
)
BAD_LIST = describe(
    "ARL104",
    "List of the wrong form",
    "error",
    "The list is empty, or names the same thing twice; each item counts once.",
)
NOT_FINITE = describe(
    "ARL105", "NaN or infinity", "error", "NaN and infinity pass comparisons by accident and ruin every step."
)
