from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

from agentic_rl.view.vocabulary import Vocabulary, read_vocabulary


def byte_level() -> Tokenizer:
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE(vocab={letter: at for at, letter in enumerate(alphabet)}, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens(["<|end|>"])
    return tokenizer


TOKENIZER = byte_level()
VOCABULARY = Vocabulary(json.loads(TOKENIZER.to_str()))


@given(st.text(alphabet=st.characters(blacklist_categories=["Cs"])))
def test_the_texts_of_the_tokens_are_the_text(text: str) -> None:
    ids = TOKENIZER.encode(text).ids
    texts = VOCABULARY.texts(ids)
    assert len(texts) == len(ids)
    assert "".join(texts) == text


def test_a_letter_of_several_tokens_is_with_the_last() -> None:
    assert VOCABULARY.texts(TOKENIZER.encode("é€").ids) == ["", "é", "", "", "€"]


def test_bytes_that_are_no_text_and_unknown_numbers_have_a_sign() -> None:
    ids = TOKENIZER.encode("€").ids
    assert VOCABULARY.texts(ids[:2]) == ["", "\ufffd"]
    assert VOCABULARY.texts([100_000]) == ["\ufffd"]
    assert VOCABULARY.texts([]) == []


def test_added_tokens_are_as_written() -> None:
    assert VOCABULARY.texts([TOKENIZER.token_to_id("<|end|>")]) == ["<|end|>"]


@pytest.mark.parametrize(
    "listed", [{"▁Hi": 0, "<0xC3>": 1, "<0xA9>": 2}, [["▁Hi", -1.0], ["<0xC3>", 0], ["<0xA9>", 0]]]
)
def test_spaces_and_bytes_of_sentence_pieces(listed: object) -> None:
    vocabulary = Vocabulary({"model": {"vocab": listed}, "decoder": {"type": "Replace"}})
    assert vocabulary.texts([0, 1, 2]) == [" Hi", "", "é"]


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"model": {"vocab": 3}}', '{"model": {"vocab": [3]}}'])
def test_another_file_is_no_vocabulary(tmp_path: Path, content: str) -> None:
    (tmp_path / "tokenizer.json").write_text(content)
    assert read_vocabulary(tmp_path / "tokenizer.json") is None
    assert read_vocabulary(tmp_path / "none") is None
