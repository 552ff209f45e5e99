"""The viewer in a real browser: the system's Chromium, driven by playwright; skipped where one of them is missing."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from view_doubles import SCRIPT, rollout, write_lines, write_run

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(BROWSER is None, reason="no Chromium is installed"),
    pytest.mark.filterwarnings("default"),  # playwright's own
]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with sync_api.sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    """A page on which every error, complaint and request elsewhere fails the test."""
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    opened = context.new_page()
    faults: list[str] = []
    opened.on("pageerror", lambda error: faults.append(str(error)))
    opened.on("console", lambda message: faults.append(message.text))
    opened.on("request", lambda request: faults.extend([request.url] if not is_ours(request.url) else []))
    yield opened
    context.close()
    assert faults == []


def is_ours(address: str) -> bool:
    return address.startswith(("http://127.0.0.1:", "file:", "data:", "about:", "blob:"))


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return write_run(tmp_path / "calc" / "seed-0")


@pytest.fixture
def serve() -> Iterator[Any]:
    """Starts `agentic-rl view` and gives the address that it prints."""
    processes: list[subprocess.Popen[str]] = []

    def started(run: Path) -> str:
        command = [sys.executable, "-m", "agentic_rl", "view", str(run), "--port", "0", "--no-browser"]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        processes.append(process)
        assert process.stdout is not None
        return process.stdout.readline().split()[1]

    yield started
    for process in processes:
        process.terminate()
        process.communicate(timeout=20)


def test_from_the_curve_to_the_tokens(page: Any, serve: Any, run: Path) -> None:
    page.goto(serve(run))
    page.get_by_role("heading", name="Reward", exact=True).wait_for()
    page.get_by_role("img", name="Reward. smoothed").focus()
    for key in ("ArrowRight", "ArrowRight", "Enter"):
        page.keyboard.press(key)
    page.get_by_text("2 of 4 groups").wait_for()
    page.get_by_role("option", name="prompt 1").click()
    page.get_by_role("heading", name="Step 2, prompt 1").wait_for()
    columns = page.locator(".column")
    assert columns.count() == 4
    assert columns.nth(1).locator(".pill").inner_text() == "1"
    assert columns.nth(1).locator(".advantage").inner_text().endswith("+0.87")
    own = columns.nth(0).locator(".conversation > .message > .tokens .own")
    assert own.all_inner_texts() == ["Let", " me", "So", " 42"]
    assert [name.split()[-1] for name in own.evaluate_all("all => all.map(one => one.className)")] == [
        "p0",
        "p2",
        "p0",
        "p1",
    ]
    call = columns.nth(0).locator("details.call")
    assert call.locator("summary").inner_text().startswith('calculator(expression="6*7")')
    call.locator("summary").click()
    assert call.locator(".tokens").inner_text() == "<call>"
    columns.nth(0).get_by_role("link").click()
    page.get_by_role("button", name="Tokens").click()
    page.get_by_text("6 tokens after it, 5 of them the policy’s").wait_for()
    page.locator(".own").nth(1 + 6).hover()
    assert "token 3" in page.get_by_role("status").all_inner_texts()[-1]


def test_filter_and_search(page: Any, serve: Any, run: Path) -> None:
    write_lines(run / "trajectories.jsonl", [rollout(3, data_source="other", finish_reason="length", reward=0.5)])
    page.goto(serve(run) + "#rollouts")
    page.get_by_text("5 groups").wait_for()
    page.get_by_role("searchbox").fill("STEP 2?")
    page.get_by_text("2 of 5 groups, 8 rollouts with the text").wait_for()
    page.get_by_role("searchbox").fill("")
    page.get_by_text("Filter and order").click()
    page.get_by_label("Source").select_option("other")
    page.get_by_text("1 of 5 groups").wait_for()
    page.get_by_role("button", name="Clear").click()
    page.get_by_label("Groups where").select_option("even")
    page.get_by_text("1 of 5 groups").wait_for()
    page.get_by_label("Groups where").select_option("")
    page.get_by_role("combobox", name="Order").select_option("newest")
    page.get_by_role("listbox").focus()
    page.keyboard.press("ArrowDown")
    page.get_by_role("heading", name="Step 3, prompt 0").wait_for()


def test_a_run_that_goes_on_is_followed(page: Any, serve: Any, run: Path) -> None:
    page.goto(serve(run) + "#rollouts")
    page.get_by_text("16 rollouts").wait_for()
    lines = json.dumps(rollout(3)) + "\n" + json.dumps(rollout(4))[:50]
    with (run / "trajectories.jsonl").open("a") as file:
        file.write(lines)
    page.get_by_text("17 rollouts, the last line is not complete").wait_for()
    (run / "trajectories.jsonl").write_text(json.dumps(rollout(1, reward=0.125)) + "\n")
    page.get_by_text("1 rollout", exact=True).wait_for()
    page.get_by_role("option", name="Step 1").get_by_text("0.125").wait_for()


def hostile(run: Path) -> None:
    """Adds a group in which everything that can be text is a script, and a tool's result of a megabyte."""
    call = {"function": {"name": SCRIPT, "arguments": json.dumps({"a": SCRIPT})}}
    messages = [
        {"role": "user", "content": SCRIPT},
        {"role": SCRIPT, "name": SCRIPT, "content": SCRIPT, "reasoning_content": SCRIPT},
        {"role": "assistant", "content": SCRIPT + "\ud800\udc80 \x00", "tool_calls": [call]},
        {"role": "tool", "content": SCRIPT + "y" * 1_000_000},
    ]
    fields = {"messages": messages, "data_source": SCRIPT, "finish_reason": SCRIPT, "error": SCRIPT}
    write_lines(run / "trajectories.jsonl", [rollout(9, sample=sample, **fields) for sample in range(2)])
    write_lines(run / "metrics.jsonl", [{"phase": "training", "step": 9, SCRIPT: 1}])
    (run / "config.resolved.yaml").write_text(SCRIPT)


def look_everywhere(page: Any, address: str) -> None:
    page.goto(address)
    page.get_by_role("heading", name=SCRIPT).wait_for()
    page.goto(address + "#group/9.0")
    for _ in range(2):
        page.locator(".column").nth(1).locator(".message").filter(has_text="onerror").first.wait_for()
        for fold in page.locator("details").all():
            fold.evaluate("fold => (fold.open = true)")
    page.locator(".column").first.get_by_role("link").click()
    page.get_by_role("heading", name="Rollout 0").wait_for()
    page.locator(".message.error").wait_for()
    page.goto(address + "#run")
    page.locator("pre").filter(has_text="onerror").wait_for()
    assert page.evaluate("window.pwned") is None
    assert page.locator("img[src], main script").count() == 0


def test_scripts_in_what_a_model_wrote_do_not_run(page: Any, serve: Any, run: Path) -> None:
    hostile(run)
    look_everywhere(page, serve(run))


def test_a_script_would_be_noticed_and_is_stopped_by_the_pages_policy(browser: Any, serve: Any, run: Path) -> None:
    """The proof that the test before can fail: text put in as HTML does make elements, and the policy stops them."""
    page = browser.new_page()
    page.goto(serve(run))
    page.evaluate(
        "text => document.body.insertAdjacentHTML('beforeend', text)", '<img src="x" onerror="window.pwned = 1">'
    )
    page.wait_for_timeout(300)
    assert page.locator("img").count() == 1
    assert page.evaluate("window.pwned") is None
    page.close()


def test_one_file_shows_the_same_without_a_server(page: Any, run: Path, tmp_path: Path) -> None:
    hostile(run)
    file = tmp_path / "run.html"
    subprocess.run([sys.executable, "-m", "agentic_rl", "view", run, "--export", file], check=True, capture_output=True)
    look_everywhere(page, file.as_uri())
    page.goto(file.as_uri() + "#rollouts")
    page.get_by_role("searchbox").fill("STEP 2?")
    page.get_by_text("2 of 5 groups, 8 rollouts with the text").wait_for()
    page.get_by_role("option", name="Step 2").first.click()
    assert page.locator(".column .own").first.inner_text() == "Let"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 800, 1600])
def test_nothing_is_wider_than_the_window(browser: Any, serve: Any, run: Path, width: int, scheme: str) -> None:
    hostile(run)
    address = serve(run)
    context = browser.new_context(viewport={"width": width, "height": 700}, color_scheme=scheme)
    page = context.new_page()
    for view in ("#curves", "#rollouts", "#group/1.0", "#group/9.0", "#rollout/9.0.0", "#run"):
        page.goto("about:blank")
        page.goto(address + view)
        page.locator(".page > *, .row, .message").first.wait_for(state="attached")
        page.wait_for_timeout(200)
        assert page.evaluate("document.documentElement.scrollWidth") <= width, view
        assert page.locator("#top").bounding_box()["height"] < 160, view
        if view == "#rollouts":
            assert page.locator(".row").nth(2).bounding_box()["y"] < 600
    context.close()


def test_a_large_file_shows_while_it_is_read(page: Any, serve: Any, tmp_path: Path) -> None:
    path = tmp_path / "run" / "trajectories.jsonl"
    path.parent.mkdir()
    block = "".join(json.dumps(rollout(1, idx, sample)) + "\n" for idx in range(500) for sample in range(8))
    with path.open("w") as file:
        for step in range(1, 41):
            file.write(block.replace('"step": 1,', f'"step": {step},'))
    address = serve(path.parent)
    begun = time.monotonic()
    page.goto(address + "#group/1.0")
    page.locator(".column .message").first.wait_for()
    seconds = time.monotonic() - begun
    page.get_by_text("160,000 rollouts", exact=True).wait_for(timeout=120_000)
    assert seconds < 10  # about one on a machine with nothing else to do
    page.get_by_text("20,000 groups").wait_for(timeout=60_000)
    page.get_by_role("listbox").focus()
    page.keyboard.press("End")
    page.get_by_role("heading", name="Step 40, prompt 499").wait_for()
