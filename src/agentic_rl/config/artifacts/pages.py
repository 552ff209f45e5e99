"""The numbered pages about model folders (ARL430-446, ARL466, ARL469)."""

from __future__ import annotations

from agentic_rl.config.diagnostics import Finding, Severity
from agentic_rl.config.rules import Page, describe

NO_CONFIG = describe(
    "ARL430",
    "Model folder without config.json",
    "error",
    "`config.json` says what the model is: its architecture, layers, heads and context. Without it no backend can load "
    "the folder. Name the folder that `save_pretrained` wrote or that was downloaded, not the one above it.",
)
BAD_CONFIG = describe(
    "ARL431",
    "config.json of the model can't be read",
    "error",
    "`config.json` is a JSON object of a few kilobytes. It may be cut off, a pointer left by Git LFS, or another file. "
    "Fetch it again from where the model came from.",
)
BAD_CONFIG_VALUE = describe(
    "ARL432",
    "Value in the model's config.json is of a wrong kind",
    "error",
    "The sizes of a model are whole numbers above zero and its names are text; heads of attention are a multiple of "
    "the heads of keys and values. A hand-edited file is the usual cause; fetch it again.",
)
NO_ARCHITECTURE = describe(
    "ARL433",
    "Model without an architecture",
    "warning",
    "`architectures` and `model_type` in `config.json` tell transformers and the inference engine which class to "
    "build. Without `model_type` transformers refuses the folder; without `architectures` vLLM does.",
)

NO_WEIGHTS = describe(
    "ARL434",
    "Model folder without weights",
    "error",
    "The folder must hold the whole model: `model.safetensors`, or several files with `model.safetensors.index.json`, "
    "or the older `pytorch_model.bin`. An adapter (LoRA) alone is no model, merge it into its base first; a GGUF file "
    "is for inference only.",
)
MISSING_WEIGHTS = describe(
    "ARL435",
    "Files of the weights are missing",
    "error",
    "The index, or the numbering of the files, names files that are not there. A download that was interrupted is the "
    "usual cause; start it again, it goes on where it stopped.",
)
BROKEN_WEIGHTS = describe(
    "ARL436",
    "File of weights is damaged",
    "error",
    "A safetensors file begins with the length of its header and the header, a JSON object that says where each tensor "
    "lies; the file ends where the last tensor ends. This one is empty, cut off, or not what its name says: a few "
    "lines of text that begin with `version https://git-lfs` are a pointer, `git lfs pull` fetches the file.",
)
BAD_INDEX = describe(
    "ARL437",
    "Index of the weights can't be used",
    "error",
    "`model.safetensors.index.json` holds the object `weight_map`, from the name of each tensor to the name of the "
    "file in the same folder that has it. Fetch it again with the weights.",
)
NO_FOLDER = describe(
    "ARL466",
    "File where the model's folder belongs",
    "error",
    "`verl` and `local` train the model of `tokenizer_name_or_path`, which is a folder with `config.json`, the weights "
    "and the tokenizer. A single file, be it the weights, `tokenizer.json` or a GGUF file, is not enough; name the "
    "folder that holds it.",
)
OTHER_TASK = describe(
    "ARL438",
    "Model that does not write text",
    "error",
    "The policy writes text token by token, so `architectures` in `config.json` names a causal language model: "
    "`...ForCausalLM`, or `...ForConditionalGeneration`. A model for masked words, for classes, for rewards or for "
    "embeddings has another head and can't be trained here, even where its layers are those of such a model. A warning "
    "where the name tells too little, and for mindspeed_rl, which reads its weights from elsewhere.",
)
QUANTIZED = describe(
    "ARL439",
    "Quantized model to be trained",
    "warning",
    "`quantization_config` in `config.json` says that the weights are stored in few bits (GPTQ, AWQ, FP8, 4 bits of "
    "bitsandbytes). That is for inference: all weights are trained here, which needs them in bfloat16 or float32. Take "
    "the original that the model was quantized from.",
)
NO_TOKENIZER = describe(
    "ARL440",
    "Folder without a tokenizer",
    "error",
    "The backends load the tokenizer from `tokenizer_name_or_path`. It is `tokenizer.json`, or the files of an older "
    "form (`vocab.json` with `merges.txt`, `tokenizer.model`, `vocab.txt`, a `.tiktoken` file). A checkpoint that was "
    "saved without its tokenizer needs these files copied from the model that it was trained from.",
)
BAD_TOKENIZER = describe(
    "ARL441",
    "File of the tokenizer is damaged",
    "error",
    "`tokenizer.json` and `tokenizer_config.json` are JSON objects, and `tokenizer.json` has a `model`. The file is "
    "empty, cut off, or a pointer left by Git LFS. Fetch it again from where the model came from.",
)
FOREIGN_TOKENIZER = describe(
    "ARL442",
    "Tokenizer with more tokens than the model",
    "warning",
    "A token whose number is not below the model's `vocab_size` has no row in the embeddings: where it occurs training "
    "stops with an index out of range, on a GPU with an assertion that names neither. The tokenizer is another "
    "model's, or tokens were added without enlarging the embeddings.",
)
NO_TEMPLATE = describe(
    "ARL443",
    "Tokenizer without a chat template",
    "error",
    "Prompts are lists of messages, and the chat template makes text of them. It stands in `tokenizer_config.json` "
    "(`chat_template`) or in `chat_template.jinja`. Base models often have none: take the instruction-tuned model, or "
    "copy its template. MindSpeed-RL's preprocessed data can do without, so there it is a warning.",
)
BAD_TEMPLATE = describe(
    "ARL444",
    "Chat template that can't work",
    "error",
    "A chat template is Jinja text that goes through `messages`. This one is empty, no text, never mentions "
    "`messages`, or does not parse (that is looked at where jinja2 is installed). A warning where the agent has tools "
    "and the template takes more time, memory or text for three short messages than one of a real model: it is "
    "rendered in a sandbox, in a process of its own with limits.",
)
TOOLLESS_TEMPLATE = describe(
    "ARL445",
    "Chat template that loses tool messages",
    "warning",
    "The agent has tools, so conversations hold messages of the role `tool`. A question, a call and a tool's result "
    "were rendered, as transformers does it, and the result is not in the text, or the template raised an exception: "
    "the policy would never see what a tool says, or the first result would end the rollout. Use a template that "
    "renders tool messages. Where jinja2 is not installed only the template's text is looked at: one that raises "
    "exceptions and never mentions `tool`.",
)
NO_SWITCH = describe(
    "ARL446",
    "Chat template without a switch for thoughts",
    "warning",
    "`enable_thinking` is handed to the chat template as a variable of this name, and the template never asks for it: "
    "the policy thinks, or does not, as before. Qwen3's template has the switch; Qwen2.5's and those of models that "
    "always think have none, and some call it otherwise. Remove the key, or take a model whose template has the "
    "switch. Nothing is said of `false` where the template knows of no thoughts at all.",
)
OTHER_PARSER = describe(
    "ARL447",
    "Format of tool calls that the chat template does not write",
    "warning",
    "`tool_parser` says how calls are read in what the policy writes, and the chat template shows the policy its "
    "earlier calls, and often how to make them, in another format. A policy that follows its template is then never "
    "understood: its calls stay text. `auto` takes the template's own format. Name another one only for a model that "
    "was trained to write calls otherwise than its template prints them.",
)
NO_SEARCH = describe(
    "ARL448",
    "Nowhere to search",
    "warning",
    "`search_r1` searches where the key `search` says: a file of documents, or the address of a retrieval server. "
    "Without the key it takes the variable `AGENTIC_RL_SEARCH` of the environment that starts the run; in that of "
    "the check it is not set. With neither, the run stops at its start.",
)
FORGETFUL_TEMPLATE = describe(
    "ARL469",
    "Chat template that rewrites the history",
    "warning",
    "A question and a reply with a `<think>` block were rendered, as transformers does it, once with a tool's result "
    "and once with another question after them, and the thoughts are not in the text: after a question Qwen3's "
    "template is one of these. The policy is then shown other tokens than it wrote, so one sequence can't hold the "
    "rollout. It is recorded as several segments, each of them a sample: more work for the trainer, and longer prompts "
    "than `max_prompt_length`. Where only a further question does it, nothing is said of agents that ask once: `math`, "
    "any with `max_steps: 1`, and an agent file that asks in one place, outside loops, or leaves the loop of "
    "`ToolAgent` as it is. They have one segment. Otherwise use a template that keeps what was thought, or let the "
    "policy not think (`enable_thinking: false`).",
)


def finding(page: Page, key: str, message: str, hint: str = "", severity: Severity | None = None) -> Finding:
    """A finding of `page` without a place; whoever reads the configuration knows where `key` stands."""
    return Finding(page.code, severity or page.severity, key, message, hint)
