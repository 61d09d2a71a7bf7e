"""List the versions of a published site for their menu: ``python docs/versions.py FOLDER ADDRESS``.

The folder has one folder for each version, such as ``v0.1.0``, and ``dev``. ``index.html`` leads to
the newest release, or to ``dev`` before the first.
"""

import json
import re
import sys
from pathlib import Path


def main(folder: str, address: str) -> None:
    """Write ``versions.json``, which the menu reads, and ``index.html``."""
    site = Path(folder)
    names = [path.name for path in site.iterdir() if re.fullmatch(r"dev|v[\d.]+", path.name)]
    releases = sorted(
        (name for name in names if name != "dev"),
        key=lambda name: [int(number) for number in name[1:].split(".")],
        reverse=True,
    )
    preferred = (releases or ["dev"])[0]
    versions = [
        {"version": name, "url": f"{address}/{name}/", "preferred": name == preferred}
        for name in [*releases, *(["dev"] if "dev" in names else [])]
    ]
    (site / "versions.json").write_text(json.dumps(versions, indent=1) + "\n", encoding="utf-8")
    (site / "index.html").write_text(
        f'<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0; '
        f'url={preferred}/"><a href="{preferred}/">sk_han</a>\n',
        encoding="utf-8",
    )
    (site / ".nojekyll").touch()  # GitHub leaves out folders such as _static otherwise


if __name__ == "__main__":
    main(*sys.argv[1:])
