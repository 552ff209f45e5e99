"""Which rows are in the cache, and which of them the next step feeds."""

from __future__ import annotations

from collections import deque

from agentic_rl.rollout.engines.cache import Cache, CacheShape, copy_slot
from agentic_rl.rollout.engines.prefixes import PrefixIndex
from agentic_rl.rollout.engines.requests import Row
from agentic_rl.rollout.engines.sessions import Parked, SessionStore, common_prefix
from agentic_rl.rollout.engines.steps import Batch, take_tokens

_ROOM = 32  # tokens that a new row's pool must have room for, so that few rows move soon


class Scheduler:
    """Admits rows in order, and decides where their first tokens come from.

    A row whose call has ended stays in its slot until the next plan, so that the session's next call, if the agent
    made it at once, goes on in place. Otherwise its cache is parked. The beginning of a prompt that a row in the cache
    has read already is copied from that row.
    """

    def __init__(self, shape: CacheShape, *, max_model_len: int, max_rows: int, max_tokens: int, parked: int) -> None:
        self._cache = Cache(shape, max_model_len)
        self._device = shape.device
        self._max_rows = max_rows
        self._max_tokens = max_tokens
        self._sessions = SessionStore(parked)
        self._live: set[Row] = set()
        self._idle: dict[str, Row] = {}
        self._prefixes = PrefixIndex()

    @property
    def full(self) -> bool:
        """Whether no further row may be admitted."""
        return len(self._live) >= self._max_rows

    @property
    def busy(self) -> bool:
        """Whether any row generates."""
        return bool(self._live)

    def running(self) -> list[Row]:
        """The rows that generate, in the order of their slots."""
        return [row for row in self._cache.rows() if row in self._live]

    def end(self, rows: list[Row]) -> None:
        """Take rows out of the steps; the cache of those with a session stays."""
        self._live.difference_update(rows)
        self._idle.update((row.session, row) for row in rows if row.session is not None)
        self._free_if_unused()

    def release(self, session: str) -> None:
        """Forget the cache of a session; a call of it that still runs goes on."""
        self._sessions.take(session)
        self._idle.pop(session, None)
        for row in self._live:
            if row.session == session:
                row.session = None
        self._free_if_unused()

    def forget_cached(self) -> None:
        """Drop all that was read with other weights; rows that generate read their tokens again."""
        self._sessions.clear()
        self._idle.clear()
        self._prefixes.clear()
        for row in self._live:
            row.cached = 0

    def clear(self) -> None:
        """Drop everything."""
        self.forget_cached()
        self._live.clear()
        self._cache.clear()

    def _free_if_unused(self) -> None:
        if not self._live and not self._idle:
            self._prefixes.clear()
            self._cache.clear()

    def plan(self, waiting: deque[Row]) -> Batch | None:
        """Admit rows and make the batch of the next step; None if there is nothing to do."""
        self._live = {row for row in self._live if not row.future.done()}
        self._admit(waiting)
        self._park_idle()
        self._cache.keep(self._live.__contains__)
        if not self._live:
            self._free_if_unused()
            return None
        take_tokens(self._cache.rows(), self._max_tokens)
        self._cache.make_room()
        return Batch(self._cache, self._device)

    def _admit(self, waiting: deque[Row]) -> None:
        budget = self._max_tokens - sum(row.pending for row in self._live)
        held: list[Row] = []
        continued: dict[Row, Row] = {}
        sources: dict[Row, Row | Parked | None] = {}
        while waiting and budget > 0 and not self.full:
            row = waiting.popleft()
            if row.future.done():
                continue
            if not (self._continue(row, continued) or self._open(row, sources)):
                held.append(row)
                continue
            self._live.add(row)
            budget -= row.pending
        waiting.extendleft(reversed(held))
        if sources:
            self._fill(sources)
        if continued:
            self._cache.replace(continued)
        self._prefixes.keep(self._live.__contains__, continued)

    def _continue(self, row: Row, continued: dict[Row, Row]) -> bool:
        """Let the row go on in the slot of its session's last call, if that is still there."""
        last = self._idle.pop(row.session, None) if row.session is not None else None
        if last is None:
            return False
        row.cached = min(common_prefix(last.tokens, row.tokens), last.cached, len(row.tokens) - 1)
        continued[last] = row
        return True

    def _open(self, row: Row, sources: dict[Row, Row | Parked | None]) -> bool:
        """Find what a row in a new slot can copy; false if another row is about to read it."""
        parked = self._sessions.take(row.session) if row.session is not None else None
        found = self._prefixes.find(row.tokens) if parked is None else None
        if parked is not None:
            row.cached = min(common_prefix(parked.tokens, row.tokens), len(row.tokens) - 1)
            sources[row] = parked
        elif found is not None and found[0].cached >= found[1]:
            sources[row], row.cached = found
        elif found is not None and found[0] in self._live:
            return False
        else:
            sources[row] = None
        self._prefixes.add(row)
        return True

    def _fill(self, sources: dict[Row, Row | Parked | None]) -> None:
        """Give slots to rows and copy what they need not read."""
        slots = self._cache.add(list(sources), room=_ROOM)
        for row, source in sources.items():
            pool, slot = slots[row]
            if isinstance(source, Parked):
                pool.kv[:, :, slot, :, : row.cached] = source.kv[:, :, :, : row.cached]
            elif source is not None:
                copy_slot(*slots[source], pool, slot, row.cached)

    def _park_idle(self) -> None:
        """Move the caches of sessions that don't go on in this step out of the batch."""
        if not self._idle:
            return
        slots = self._cache.slots()
        for session, row in self._idle.items():
            pool, slot = slots[row]
            kv = pool.kv[:, :, slot, :, : row.cached].clone()
            self._sessions.put(session, Parked(row.tokens[: row.cached], kv))
        self._idle.clear()
