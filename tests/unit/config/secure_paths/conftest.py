from collections.abc import Callable
from pathlib import Path

import pytest

MakeTree = Callable[..., Path]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """An empty folder of mode 750, its path free of links."""
    folder = tmp_path.resolve() / "root"
    folder.mkdir()
    folder.chmod(0o750)
    return folder


@pytest.fixture
def tree(root: Path) -> MakeTree:
    """Make files (parents included) below `root`, with the right modes."""

    def make(*names: str) -> Path:
        for name in names:
            path = root / name
            for folder in [*path.relative_to(root).parents][-2::-1]:
                (root / folder).mkdir(exist_ok=True)
                (root / folder).chmod(0o750)
            path.write_text("content")
            path.chmod(0o640)
        return root

    return make
