"""Sphinx configuration: `make docs`. Building needs nothing from the network.

What is published has a menu of versions and links to the pages of other projects, whose lists of
pages are loaded: SK_HAN_SITE is its address then, SK_HAN_SITE_VERSION the folder of this version.
"""

import inspect
import os
import re
import sys
from pathlib import Path

# Before NumPy and PyTorch load: examples draw small networks, on which a second thread costs time.
os.environ.setdefault("OMP_NUM_THREADS", "1")

sys.path.insert(0, str(Path(__file__).parent))  # of gallery_order

import sk_han

PYPROJECT = Path(__file__).parents[1] / "pyproject.toml"
REPOSITORY = re.search(r'^Repository = "(.+)"$', PYPROJECT.read_text("utf-8"), re.M)[1]

project = "sk_han"
author = "The sk_han developers"
project_copyright = "The sk_han developers"
version = release = sk_han.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_gallery.gen_gallery",
]
SITE = os.environ.get("SK_HAN_SITE")
if SITE:
    extensions.append("sphinx.ext.intersphinx")
    intersphinx_mapping = {
        "python": ("https://docs.python.org/3", None),
        "numpy": ("https://numpy.org/doc/stable", None),
        "sklearn": ("https://scikit-learn.org/stable", None),
        "skorch": ("https://skorch.readthedocs.io/en/stable", None),
        "torch": ("https://docs.pytorch.org/docs/stable", None),
    }

exclude_patterns = [
    "_build",
    "sg_execution_times.rst",
    "auto_examples/sg_execution_times.rst",
]
templates_path = ["_templates"]
# `name` in a docstring is code, and a link where the name is documented.
default_role = "py:obj"

myst_heading_anchors = 3
smartquotes = False  # pages show text as the tokenizer reads it

autosummary_generate = True
toc_object_entries_show_parents = "hide"
autodoc_typehints = "none"  # the docstrings say types in words
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

# Pictures are made by running examples/plot_*.py. The other files there are scripts of their own.
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "auto_examples",
    "filename_pattern": r"/plot_",
    "ignore_pattern": r"(^|/)(?!plot_)[^/]*$",
    "within_subsection_order": "gallery_order.ByQuestion",
    "backreferences_dir": "generated/backreferences",
    "doc_module": ("sk_han",),
    "capture_repr": ("_repr_html_",),
    "image_srcset": ["2x"],
    "download_all_examples": False,
    "show_signature": False,
    "write_computation_times": False,
    "parallel": 2,
}

html_theme = "pydata_sphinx_theme"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_title = f"sk_han {release}"
html_show_sourcelink = False
html_copy_source = False
html_sidebars = {
    "*": [],
    "auto_examples/*": [],
    "generated/*": ["sidebar-nav-bs"],
    "how_to/*": ["sidebar-nav-bs"],
}
html_theme_options = {
    "logo": {"text": "sk_han"},
    "github_url": REPOSITORY,
    "navbar_align": "left",
    "header_links_before_dropdown": 6,
    "navigation_with_keys": False,
    "show_toc_level": 2,
    "show_prev_next": False,
    # Not in how_to/, whose pages are short and have a list of all pages beside them.
    "secondary_sidebar_items": {
        "*": ["page-toc"],
        "auto_examples/*": ["page-toc"],
        "generated/*": ["page-toc"],
    },
    "footer_start": ["copyright"],
    "footer_end": [],
}
if SITE:
    html_theme_options |= {
        "switcher": {
            "json_url": f"{SITE}/versions.json",
            "version_match": os.environ["SK_HAN_SITE_VERSION"],
        },
        "check_switcher": False,  # the list is written after the pages
        "navbar_end": ["version-switcher", "theme-switcher", "navbar-icon-links"],
    }


def _skip(app, what, name, obj, skip, options):
    """Leave out what is documented elsewhere.

    Fields of named tuples stand under Attributes of their class, and inherited methods,
    ``set_fit_request`` and similar ones in scikit-learn's documentation.
    """
    is_field = inspect.isdatadescriptor(obj) and type(obj).__name__ == "_tuplegetter"
    is_request = name.startswith("set_") and name.endswith("_request")
    is_inherited = (getattr(obj, "__module__", None) or "").startswith("sklearn.")
    return skip or is_field or is_request or is_inherited


def setup(app):
    app.connect("autodoc-skip-member", _skip)
