from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentic_rl.agents.tools.passages import Passage, SearchError, as_text, passage
from agentic_rl.agents.tools.search import open_searcher, search_tool

DOCUMENTS = [
    {"id": 1, "contents": '"Paris"\nThe capital of France lies on the Seine.'},
    {"id": 2, "title": "Berlin", "text": "The capital of Germany lies on the Spree."},
    {"id": 3, "text": "北京是中国的首都"},
    {"id": 4, "text": "The Who is a band."},
]


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "documents.jsonl"
    path.write_text("\n".join(json.dumps(one) for one in DOCUMENTS) + "\n\n", encoding="utf-8")
    return path


def titles(index: Any, query: str) -> list[str]:
    return [one.title or one.text for one in index.find(query)]


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        ("text", Passage("text")),
        ({"contents": '"A title"\nand a text\nof lines'}, Passage("and a text\nof lines", "A title")),
        ({"contents": "one line"}, Passage("one line")),
        ({"text": "text", "title": "title"}, Passage("text", "title")),
        ({"contents": "a\nb", "title": "title"}, Passage("a\nb", "title")),
        ({"text": "text", "title": None}, Passage("text")),
    ],
)
def test_documents_of_every_usual_form(document, expected):
    assert passage(document) == expected


@pytest.mark.parametrize("document", [3, None, {}, {"text": None}, ["text"]])
def test_what_has_no_text_is_no_document(document):
    with pytest.raises(ValueError, match="a document"):
        passage(document)


def test_the_policy_reads_numbers_titles_and_texts():
    assert as_text([Passage("a", "A"), Passage("b")]) == "Doc 1 (Title: A): a\nDoc 2: b"
    assert as_text([]) == "Nothing was found."


class TestLocalIndex:
    @pytest.fixture(autouse=True)
    def _library(self):
        pytest.importorskip("bm25s")

    def test_rare_words_count_more(self, file):
        index = open_searcher(file, topk=2)
        assert titles(index, "capital of Germany") == ["Berlin", "Paris"]

    def test_words_that_nobody_wrote_find_nothing(self, file):
        index = open_searcher(file)
        assert index.find("zebra") == []
        assert index.find("") == []
        assert index.find("!?") == []

    def test_a_name_of_small_words_is_found(self, file):
        assert titles(open_searcher(file, topk=1), "the who") == ["The Who is a band."]

    def test_chinese_is_searched_by_characters(self, file):
        assert titles(open_searcher(file, topk=1), "首都在哪里") == ["北京是中国的首都"]

    def test_more_passages_than_documents_are_all_documents_that_fit(self, file):
        assert len(open_searcher(file, topk=100).find("capital")) == 2

    def test_the_index_is_kept_until_the_file_changes(self, file):
        assert len(open_searcher(file)) == 4
        made = (file.parent / "documents.jsonl.bm25" / "index.json").stat().st_mtime_ns
        assert len(open_searcher(file)) == 4
        assert (file.parent / "documents.jsonl.bm25" / "index.json").stat().st_mtime_ns == made
        with file.open("a", encoding="utf-8") as lines:
            lines.write(json.dumps({"text": "a zebra"}) + "\n")
        assert titles(open_searcher(file), "zebra") == ["a zebra"]
        assert sorted(path.name for path in file.parent.iterdir()) == ["documents.jsonl", "documents.jsonl.bm25"]

    def test_a_damaged_index_is_made_again(self, file):
        open_searcher(file)
        (file.parent / "documents.jsonl.bm25" / "places.npy").write_bytes(b"broken")
        assert titles(open_searcher(file, topk=1), "Germany") == ["Berlin"]

    def test_where_nothing_can_be_written_the_index_is_made_anew(self, file, monkeypatch, caplog):
        from agentic_rl.agents.tools import local_index

        def refused(**_: object) -> str:
            raise PermissionError(13, "Permission denied")

        monkeypatch.setattr(local_index.tempfile, "mkdtemp", refused)
        monkeypatch.setattr(local_index.tempfile, "TemporaryDirectory", lambda: Passing(file.parent / "elsewhere"))
        assert titles(open_searcher(file, topk=1), "Germany") == ["Berlin"]
        assert "Permission denied; the index is not kept" in caplog.text

    def test_parquet_is_read(self, tmp_path):
        import pyarrow
        from pyarrow import parquet

        rows = [{"title": "A", "text": "apples and pears"}, {"title": "B", "text": "plums"}]
        parquet.write_table(pyarrow.Table.from_pylist(rows), tmp_path / "d.parquet")
        assert titles(open_searcher(tmp_path / "d.parquet"), "plums") == ["B"]
        assert titles(open_searcher(tmp_path / "d.parquet"), "pears") == ["A"]

    @pytest.mark.parametrize(
        ("name", "text", "message"),
        [
            ("d.jsonl", '{"text": "a"}\n{broken\n', r"d\.jsonl:2: "),
            ("d.jsonl", '{"text": "a"}\n{"id": 1}\n', r"d\.jsonl:2: a document has none of contents, text"),
            ("d.jsonl", "", "has no document with a word"),
            ("d.jsonl", '{"text": "..."}\n', "has no document with a word"),
            ("d.parquet", "no parquet", r"d\.parquet: "),
            ("d.txt", "text", r"read from \.jsonl, \.ndjson or \.parquet"),
        ],
    )
    def test_a_file_that_is_no_collection_is_refused(self, tmp_path, name, text, message):
        (tmp_path / name).write_text(text, encoding="utf-8")
        with pytest.raises(SearchError, match=message):
            open_searcher(tmp_path / name)
        assert [path.name for path in tmp_path.iterdir()] == [name]

    def test_a_missing_file_is_told(self, tmp_path):
        with pytest.raises(FileNotFoundError):
            open_searcher(tmp_path / "d.jsonl")

    @given(st.text())
    def test_no_query_breaks_it(self, query):
        index = self.shared()
        assert all(isinstance(one, Passage) for one in index.find(query))

    @classmethod
    def shared(cls):
        if not hasattr(cls, "_index"):
            import tempfile
            from pathlib import Path

            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder, "d.jsonl")
                path.write_text("\n".join(map(json.dumps, DOCUMENTS)), encoding="utf-8")
                cls._index = open_searcher(path)
        return cls._index

    def test_as_a_tool(self, file):
        result = asyncio.run(search_tool(file, topk=1).call({"query": "capital of France"}))
        assert result.text == "Doc 1 (Title: Paris): The capital of France lies on the Seine."


class Passing:
    """A folder for the time of a `with` block, of which only the name goes."""

    def __init__(self, path) -> None:
        self.path = path

    def __enter__(self) -> str:
        self.path.mkdir()
        return str(self.path)

    def __exit__(self, *_: object) -> None:
        self.path.rename(self.path.with_name("gone"))


class Server:
    """A real server on loopback that meets each request with the next fault, and answers when none is left."""

    def __init__(self, *faults: Any) -> None:
        self.faults = list(faults)
        self.requests: list[dict[str, Any]] = []

    async def answer(self, request: Any) -> Any:
        from aiohttp import web

        body = await request.json()
        self.requests.append(body)
        fault = self.faults.pop(0) if self.faults else None
        if callable(fault):
            fault = fault(body)
        if fault == "hang":
            await asyncio.sleep(5)
        if fault == "reset":
            request.transport.abort()
        if isinstance(fault, int):
            return web.Response(status=fault, text="refused")
        if isinstance(fault, str):
            return web.Response(text=fault)
        result = [[{"document": {"contents": f"T\n{query}"}, "score": 0.5}] * 9 for query in body["queries"]]
        return web.json_response({"result": result})

    def ask(self, *queries: str, **settings: Any) -> list[Any]:
        """Search for all queries at one moment; each one's passages, or its error."""
        from aiohttp import web

        from agentic_rl.agents.tools.retriever import Retriever

        async def main() -> list[Any]:
            app = web.Application()
            app.router.add_post("/retrieve", self.answer)
            runner = web.AppRunner(app, shutdown_timeout=0.1)
            await runner.setup()
            site = web.TCPSite(runner, "127.0.0.1", 0)
            await site.start()
            port = runner.addresses[0][1]
            retriever = Retriever(f"http://127.0.0.1:{port}/retrieve", **{"seconds": 0.5, **settings})
            try:
                return await asyncio.gather(*map(retriever.search, queries), return_exceptions=True)
            finally:
                await runner.cleanup()

        return asyncio.run(main())


@pytest.fixture
def quick(monkeypatch):
    pytest.importorskip("aiohttp")
    from agentic_rl.agents.tools import retriever

    monkeypatch.setattr(retriever, "_FIRST_WAIT", 0.001)


class TestRetriever:
    @pytest.fixture(autouse=True)
    def _quick(self, quick):
        pass

    def test_the_form_of_request_and_answer(self):
        server = Server()
        assert server.ask("cats") == [[Passage("cats", "T", 0.5)] * 3]
        assert server.requests == [{"queries": ["cats"], "topk": 3, "return_scores": True}]

    def test_queries_of_one_moment_go_together_and_each_gets_its_own_answer(self):
        server = Server()
        results = server.ask(*map(str, range(10)), batch=4, topk=1)
        assert [found[0].text for found in results] == list(map(str, range(10)))
        assert sorted(len(request["queries"]) for request in server.requests) == [2, 4, 4]

    @pytest.mark.parametrize("fault", [500, 503, 429, "hang", "reset"])
    def test_what_may_be_gone_another_time_is_tried_again(self, fault):
        server = Server(fault)
        assert server.ask("cats")[0][0].text == "cats"
        assert len(server.requests) == 2

    def test_a_server_that_stays_broken_is_told_with_the_number_of_tries(self):
        server = Server(*[500] * 9)
        [error] = server.ask("cats", tries=2)
        assert isinstance(error, SearchError)
        assert "status 500: 'refused'; tried 2 times" in str(error)

    def test_a_refused_request_is_sent_once(self):
        server = Server(400)
        [error] = server.ask("cats")
        assert "status 400: 'refused'" in str(error)
        assert len(server.requests) == 1

    def test_a_query_that_breaks_the_server_fails_alone(self):
        def breaks(body: dict[str, Any]) -> Any:
            return 500 if "bad" in body["queries"] else None

        results = Server(*[breaks] * 20).ask("good", "bad", "fine", tries=2)
        assert [type(result) for result in results] == [list, SearchError, list]

    @pytest.mark.parametrize(
        "answer",
        ["", "garbage", "[]", '{"result": 3}', '{"result": []}', '{"result": [[3]]}', '{"result": [[{"score": 1}]]}'],
    )
    def test_an_answer_of_another_form_is_told(self, answer):
        [error] = Server(answer).ask("cats")
        assert "a list `result` with a list for each query is expected" in str(error)

    def test_answers_without_scores_are_read_too(self):
        assert Server('{"result": [[{"contents": "T\\nx"}]]}').ask("cats") == [[Passage("x", "T")]]

    def test_half_a_character_does_not_reach_the_server(self):
        server = Server()
        assert server.ask("a\ud800b")[0][0].text == "a?b"

    def test_the_model_reads_the_error(self):
        pytest.importorskip("aiohttp")
        result = asyncio.run(search_tool("http://127.0.0.1:9/retrieve").call({"query": "x"}))
        assert not result.ok
        assert "SearchError: http://127.0.0.1:9/retrieve" in result.text

    @pytest.mark.parametrize("setting", ["topk", "seconds", "tries", "batch"])
    def test_no_setting_may_be_zero(self, setting):
        from agentic_rl.agents.tools.retriever import Retriever

        with pytest.raises(ValueError, match=f"{setting}: 0"):
            Retriever("http://127.0.0.1:9", **{setting: 0})
