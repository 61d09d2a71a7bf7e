"""Results as pages, text and figures: a result yields blocks, and writers render them.

A `Result` (`result`) holds data. Its method ``_blocks(extent)`` yields what is shown on a "page",
in a "notebook" or in a "terminal", as dataclasses of `blocks`: headings, sentences, tables, folds,
shaded documents and matrices. The text of a block is a string, or a sequence of strings, `Span`
(such as a label) and `Bar`. It is never markup.

Two writers render blocks. `html` has one Jinja2 template, ``page.html.jinja``, which escapes every
text, and the style sheet of `colors` and ``page.css``. Pages have no scripts and load no files.
`text` writes lines for a terminal, where a matrix is left out, a closed fold is only its title, and
a shaded document has its longest sentences cut. So a new kind of block needs a dataclass, a branch
in the template, and one in `text`.

`shading` makes the blocks of an explanation: it decides which words are shaded and which sentences
are folded, and writes the legend. `report` makes those of a `Report`. `figures` draws sentences,
matrices and faithfulness by matplotlib, from the same data.

Explanations and reports are classes of `sk_han.inspection`, which imports this package, so their
type is `Any` here. No fit imports this package.
"""
