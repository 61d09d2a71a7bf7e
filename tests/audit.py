"""Ask for known weaknesses of the packages in a bill of materials; `make audit` runs this.

pip-audit alone ends well where an index knows no advisories: it calls each package skipped.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

UNREACHED = "No index of advisories was reached, so nothing is known: run this where PyPI can be."


def requirements(bill: str) -> list[str]:
    """The packages with their releases, less local labels such as +cpu, which no index knows."""
    components = json.loads(bill)["components"]
    return sorted(f"{each['name']}=={each['version'].partition('+')[0]}" for each in components)


def complaint(asked: list[str], report: str) -> str:
    """What stands against the packages by pip-audit's report in JSON; empty if nothing does."""
    try:
        found = json.loads(report)["dependencies"]
    except (ValueError, KeyError):
        return UNREACHED
    checked = [each for each in found if "vulns" in each]
    if not checked:
        return UNREACHED
    lines = [
        f"{each['name']} {each['version']}: {weakness['id']}, "
        f"mended in {', '.join(weakness['fix_versions']) or 'no release'}"
        for each in checked
        for weakness in each["vulns"]
    ]
    if len(checked) < len(asked):
        lines += [f"not checked: {each['name']}" for each in found if "vulns" not in each]
        lines.append(f"{len(checked)} of {len(asked)} packages were checked.")
    return "\n".join(lines)


def main(path: str) -> None:
    """End the program with what pip-audit finds, if it finds anything or cannot ask."""
    asked = requirements(Path(path).read_text("utf-8"))
    with tempfile.TemporaryDirectory() as folder:
        listed = Path(folder) / "requirements.txt"
        listed.write_text("\n".join(asked), "utf-8")
        options = ["--no-deps", "--disable-pip", "--progress-spinner", "off", "--format", "json"]
        command = [sys.executable, "-m", "pip_audit", *options, "--requirement", str(listed)]
        report = subprocess.run(command, stdout=subprocess.PIPE, text=True).stdout
    if found := complaint(asked, report):
        sys.exit(found)
    print(f"No known weakness in {len(asked)} packages.")


if __name__ == "__main__":
    main(sys.argv[1])
