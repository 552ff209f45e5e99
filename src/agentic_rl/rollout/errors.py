"""What can be wrong with a tokenizer or its chat template."""

from __future__ import annotations


class ChatTemplateError(ValueError):
    """The chat template can't be used for token-exact conversations of several turns."""


class HistoryRewrittenError(ChatTemplateError):
    """The template would show the policy an earlier turn otherwise than it was: the tokens can't be continued."""
