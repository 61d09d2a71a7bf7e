"""`make audit` passes only where each package was looked up and nothing is known against it."""

import json

from tests.audit import UNREACHED, complaint, requirements

ASKED = ["numpy==2.4.6", "torch==2.13.0"]
CLEAN = {"name": "numpy", "version": "2.4.6", "vulns": []}


def report(*dependencies):
    return json.dumps({"dependencies": list(dependencies), "fixes": []})


def test_local_labels_are_left_out():
    packages = {"torch": "2.13.0+cpu", "numpy": "2.4.6"}
    components = [{"name": name, "version": version} for name, version in packages.items()]
    assert requirements(json.dumps({"components": components})) == ASKED


def test_packages_without_a_known_weakness_pass():
    assert complaint(ASKED, report(CLEAN, CLEAN | {"name": "torch"})) == ""


def test_a_weakness_is_named_with_the_release_that_mends_it():
    weak = {
        "name": "torch",
        "version": "2.13.0",
        "vulns": [{"id": "X-1", "fix_versions": ["2.14"]}],
    }
    assert complaint(ASKED, report(CLEAN, weak)) == "torch 2.13.0: X-1, mended in 2.14"


def test_no_answer_is_no_pass():
    skipped = [{"name": name, "skip_reason": "not found"} for name in ("numpy", "torch")]
    assert complaint(ASKED, "") == complaint(ASKED, report(*skipped)) == UNREACHED


def test_a_package_that_was_not_looked_up_is_named():
    skipped = {"name": "torch", "skip_reason": "not found"}
    found = complaint(ASKED, report(CLEAN, skipped))
    assert found == "not checked: torch\n1 of 2 packages were checked."
