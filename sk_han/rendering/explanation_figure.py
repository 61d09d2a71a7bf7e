"""An explanation as a matplotlib figure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sk_han.rendering.colors import check_axes, shades, theme_of
from sk_han.rendering.fonts import drawable, families_for
from sk_han.rendering.notes import NO_WORDS, attention_note, methods_note, named, probabilities_of
from sk_han.rendering.protocols import Explained, Quantity
from sk_han.rendering.reading_direction import in_order_of_places, reads_right_to_left
from sk_han.rendering.rows import (
    FEWEST_WORDS,
    Piece,
    Row,
    chunks_of,
    rows_of,
    shortened,
    words_for_each,
)
from sk_han.rendering.shading import LEVELS, Shading, brief, shading_of
from sk_han.utils.argument_checks import check_count
from sk_han.utils.counts import counted
from sk_han.utils.optional import import_optional
from sk_han.utils.visible_text import in_one_line

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Lengths are in points, as the size of text is, which does not change with the figure's size.
FONT_SIZE = 9.0
LINE = 15.0
BASELINE = 0.7 * LINE
GAP = 4.0
SPACE = 2.9
NUMBER_RIGHT = 42.0
BAR_LEFT, BAR = 48.0, 42.0
TEXT_LEFT = 102.0
SWATCH = 11.0
# Letters are aligned with pixels: in a file of another resolution a line may be longer.
RESERVE = 0.95
SMALL = FONT_SIZE - 1

CLASSES_SHOWN = 3


def plot_explanation(
    explanation: Explained,
    ax: Axes | None = None,
    *,
    show: Quantity = "contributions",
    max_sentences: int = 20,
) -> Axes:
    """Draw each sentence as a row, with its value as a bar and its words shaded by theirs.

    The figure of Yang et al. (2016), with the punctuation of the text.

    Parameters
    ----------
    explanation : Explained
    ax : matplotlib.axes.Axes, optional
        Axes to draw on; rows that do not fit are left out and counted. By default a new figure
        of the height that the text needs.
    show : {"contributions", "attention"}, default="contributions"
        What shades and bars show.
    max_sentences : int, default=20
        Number of sentences to draw: those of the largest weights, in the order of the text. If
        these have more than 1,000 words, or the first does not fit given axes, long sentences
        are cut to their heaviest words with their neighbours, and the others are counted.

    Notes
    -----
    Lines are broken for the current width of the axes, so draw last on a figure of several axes.
    A sentence that starts with Hebrew or Arabic runs from the right, word by word; so do words of
    another script within it. Characters that the fonts of ``rcParams["font.family"]`` lack are
    drawn in installed fonts that have them; where none has, a warning names one to install.
    """
    check_count("max_sentences", max_sentences)
    shading = shading_of(explanation, show)
    sheet = sheet_on(ax, 8, [explanation], "DocumentExplanation.plot")
    paint_head(sheet, explanation)
    legend = GAP + LINE * (1 + len(broken(sheet, _note([explanation], shading), size=SMALL)))
    lines = 2 if shading.sum_note() else 1  # sentences left out, and the sum
    lowest = sheet.height - LINE * lines - GAP - legend
    paint_sentences(sheet, [sheet], explanation, [shading], max_sentences, lowest)
    paint_legend(sheet, [explanation], shading)
    return sheet.finished()


def sheet_on(ax: Axes | None, width: float, explanations: Sequence[Explained], door: str) -> Sheet:
    """Return a sheet on these axes, or on a new figure of this width in inches, without frame.

    Its fonts have all characters of the explanations.
    """
    pyplot = import_optional("matplotlib.pyplot", "plot", door)
    height = None
    if ax is None:
        height = np.inf
        figure, ax = pyplot.subplots(figsize=(width, 3))
        side = 0.16 / width
        figure.subplots_adjust(left=side, right=1 - side, top=0.98, bottom=0.02)
    check_axes(ax)
    ax.set_axis_off()
    labels = (str(label) for each in explanations for label in each.classes.tolist())
    methods = (each.method for each in explanations)
    texts = [*(each.text for each in explanations), *labels, *methods]
    return Sheet(ax, height, families=families_for(texts))


class Placed(NamedTuple):
    """A piece of a line, its artist (None of a blank) and its length."""

    piece: Piece
    artist: Any
    length: float


BLANK = Placed(Piece(" "), None, SPACE)


class Sheet:
    """Axes with coordinates in points from the top left corner; `y` is the current line.

    A column begins `left` points from the left edge and is `width` points wide.
    """

    def __init__(
        self,
        ax: Any,
        height: float | None,
        *,
        left: float = 0.0,
        width: float | None = None,
        families: list[str] | None,
    ) -> None:
        from matplotlib.transforms import Affine2D, ScaledTranslation

        self.ax = ax
        self.families = families
        self.points = (
            Affine2D().translate(left, 0).scale(1 / 72, -1 / 72)
            + ax.figure.dpi_scale_trans
            + ScaledTranslation(0, 1, ax.transAxes)
        )
        layout = ax.figure.get_layout_engine()
        if layout is not None:  # otherwise the axes get their size when they are first drawn
            layout.execute(ax.figure.canvas.figure)
        size = ax.get_window_extent()
        self.per_point = ax.figure.dpi / 72
        self.width = size.width / self.per_point if width is None else width
        self.height = size.height / self.per_point if height is None else height
        self.theme = theme_of(ax)
        self.y = 0.0

    def text(self, x: float, text: str, **style: Any) -> Any:
        """Write on the line at `y`; dollar signs do not start mathematics."""
        style = {"color": self.theme.text, "size": FONT_SIZE, "zorder": 3} | style
        if not text.isascii():
            if self.families is not None or drawable(text, weight="bold") != text:
                # matplotlib logs each font that has no bold face, and bold faces have less.
                style.pop("weight", None)
            if self.families is not None:
                style["family"] = self.families
            text = drawable(text, self.families)
        return self.ax.text(
            x,
            self.y + BASELINE,
            text,
            transform=self.points,
            parse_math=False,
            clip_on=True,
            **style,
        )

    def finished(self) -> Axes:
        """Return the axes; a figure of their own becomes as high as what was written."""
        if self.height == np.inf:
            self.ax.figure.set_figheight(self.y / 72 / self.ax.get_position().height)
        axes: Axes = self.ax
        return axes

    def state(self) -> tuple[int, int, float]:
        """Return what `undo` goes back to."""
        return len(self.ax.texts), len(self.ax.patches), self.y

    def undo(self, state: tuple[int, int, float]) -> None:
        """Remove what was drawn since then, and go back to the line."""
        n_texts, n_patches, self.y = state
        for artist in [*self.ax.texts[n_texts:], *self.ax.patches[n_patches:]]:
            artist.remove()

    def length(self, artist: Any) -> float:
        """Return the width of what was written."""
        return float(artist.get_window_extent().width) / self.per_point

    def box(
        self, x: float, width: float, color: str, top: float = 1.0, height: float = 13.0
    ) -> None:
        """Draw a filled rectangle on the line at `y`, `top` points below its upper end."""
        from matplotlib.patches import Rectangle

        self.ax.add_patch(
            Rectangle(
                (x, self.y + top),
                width,
                height,
                facecolor=color,
                linewidth=0,
                transform=self.points,
                zorder=2,
            )
        )


def paint_head(sheet: Sheet, explanation: Explained, before: str = "", true: Any = None) -> None:
    """Write what is predicted, and at the right the probabilities of the likeliest classes."""
    probabilities = "   ".join(probabilities_of(explanation, CLASSES_SHOWN, true))
    head = f"{before}predicted {named(explanation.answer, in_one_line)}"
    *lines, last = broken(sheet, head, weight="bold")
    for line in lines:
        sheet.text(0, line, weight="bold")
        sheet.y += LINE
    predicted = sheet.text(0, last, weight="bold")
    _paint_at_end(sheet, sheet.length(predicted), probabilities, color=sheet.theme.muted)
    sheet.y += LINE + 2 * GAP


def paint_sentences(
    sheet: Sheet,
    columns: Sequence[Sheet],
    explanation: Explained,
    shadings: Sequence[Shading],
    max_sentences: int,
    lowest: float = np.inf,
) -> None:
    """Draw the sentences of the largest weights, and count those left out and what was not read.

    Each shading has its column. Of more than fit above `lowest` the heaviest are drawn, and the
    first of these is shortened if need be.
    """
    rows = rows_of(explanation)
    largest = np.abs([shading.sentences for shading in shadings]).max(axis=0)
    heaviest = np.argsort(-largest, kind="stable").tolist()
    n, before = min(max_sentences, len(heaviest)), sheet.state()
    while True:
        chosen = [rows[i] for i in sorted(heaviest[:n])]
        drawn = _paint_rows(sheet, columns, chosen, shadings, lowest)
        if drawn == n or n == 1:
            break
        sheet.undo(before)
        n = max(drawn, 1)
    left_out = len(largest) - drawn
    if left_out:
        note = counted(left_out, "more sentence")
        sheet.text(TEXT_LEFT, note, color=sheet.theme.muted, style="italic")
        sheet.y += LINE + GAP
    if any(shading.sum_note() for shading in shadings):
        for column, shading in zip(columns, shadings, strict=True):
            column.y = sheet.y
            column.text(TEXT_LEFT, shading.sum_note(), color=sheet.theme.muted, size=SMALL)
        sheet.y += LINE
    if rows and rows[-1].sentence is None and explanation.truncated:
        _paint_words(sheet, rows[-1], shadings[0])


def _paint_rows(
    sheet: Sheet,
    columns: Sequence[Sheet],
    rows: Sequence[Row],
    shadings: Sequence[Shading],
    lowest: float,
) -> int:
    """Draw sentences until one does not fit, the first shortened if need be; return how many."""
    n_words = words_for_each(rows)
    for n_drawn, row in enumerate(rows):
        before = sheet.state()
        bottom = _paint_row(columns, row, shadings, n_words, sheet.y)
        while bottom > lowest and not n_drawn and n_words > FEWEST_WORDS:
            sheet.undo(before)
            n_words //= 2
            bottom = _paint_row(columns, row, shadings, n_words, sheet.y)
        if bottom > lowest:
            sheet.undo(before)
            return n_drawn
        sheet.y = bottom + GAP
    return len(rows)


def _paint_row(
    columns: Sequence[Sheet], row: Row, shadings: Sequence[Shading], n_words: int, top: float
) -> float:
    """Draw a sentence in each column; return where the lowest of them ends."""
    for column, shading in zip(columns, shadings, strict=True):
        column.y = top
        _paint_margin(column, shading, row.sentence or 0)
        _paint_words(column, shortened(row, shading.words, n_words), shading)
    return max(column.y for column in columns)


def _paint_margin(sheet: Sheet, shading: Shading, sentence: int) -> None:
    """Write the value of a sentence, and draw its bar."""
    value = float(shading.sentences[sentence])
    number = shading.written(sentence)
    sheet.text(NUMBER_RIGHT, number, ha="right", color=sheet.theme.muted, size=SMALL)
    strong = getattr(sheet.theme, shading.scale(value))[1]
    sheet.box(BAR_LEFT, BAR, sheet.theme.rule, top=4.5, height=6)
    sheet.box(BAR_LEFT, BAR * shading.share(sentence), strong, top=4.5, height=6)


def _paint_words(sheet: Sheet, row: Row, shading: Shading) -> None:
    right_to_left = reads_right_to_left(piece.text for piece in row.pieces)
    line: list[Placed] = []
    for chunk in chunks_of(row):
        artists = [sheet.text(0, piece.text) for piece in chunk]
        lengths = [sheet.length(artist) for artist in artists]
        if line and _end_of(line) + sum(lengths) > sheet.width:
            _paint_line(sheet, line, right_to_left, shading)
            line = []
        for piece, artist, length in zip(chunk, artists, lengths, strict=True):
            if line and _end_of(line) + length > sheet.width:
                _paint_line(sheet, line, right_to_left, shading)
                line = []
            line.append(Placed(piece, artist, length))
        line.append(BLANK)
    _paint_line(sheet, line, right_to_left, shading)


def _end_of(line: Sequence[Placed]) -> float:
    return TEXT_LEFT + sum(placed.length for placed in line)


def _paint_line(
    sheet: Sheet, line: Sequence[Placed], right_to_left: bool, shading: Shading
) -> None:
    """Put what a line holds in its place, with shades, and go to the next line."""
    x = TEXT_LEFT
    for number, text in in_order_of_places([each.piece.text for each in line], right_to_left):
        piece, artist, length = line[number]
        if artist is not None:
            left = sheet.width - (x - TEXT_LEFT) - length if right_to_left else x
            artist.set(position=(left, sheet.y + BASELINE))
            if text != piece.text:
                artist.set_text(drawable(text, sheet.families))
            level = 0 if piece.word is None else shading.levels[piece.word]
            if level:
                sheet.box(left - 1, length + 2, _shade(sheet, shading, level))
            if piece.note:
                artist.set_color(sheet.theme.muted)
        x += length
    sheet.y += LINE


def paint_legend(sheet: Sheet, explanations: Sequence[Explained], shading: Shading) -> None:
    """Draw the colours, with their numbers if they are of one document, and say what they mean."""
    sheet.y += GAP
    style: dict[str, Any] = {"color": sheet.theme.muted, "size": SMALL}
    if not any(len(explanation.word_spans) for explanation in explanations):
        sheet.text(0, NO_WORDS, **style)
        sheet.y += LINE
        return
    limit = shading.word_limit
    least, most = (brief(-limit, True), brief(limit, True)) if len(explanations) == 1 else ("", "")
    if shading.signed:
        ends = f"against {least}".strip(), f"{most} toward".strip()
        levels = [*range(-LEVELS, 0), *range(1, LEVELS + 1)]
    else:
        ends, levels = ("attention 0", most.lstrip("+") or "most"), [*range(1, LEVELS + 1)]
    x = sheet.length(sheet.text(0, ends[0], **style)) + 2 * GAP
    for level in levels:
        sheet.box(x, SWATCH, _shade(sheet, shading, level), top=3, height=9)
        x += SWATCH
    x += GAP + sheet.length(sheet.text(x + GAP, ends[1], **style))
    _paint_at_end(sheet, x, _note(explanations, shading), **style)
    sheet.y += LINE


def _note(explanations: Sequence[Explained], shading: Shading) -> str:
    if shading.signed:
        return methods_note(explanations, in_one_line)
    return attention_note(explanations[0].combine)


def _paint_at_end(sheet: Sheet, taken: float, text: str, **style: Any) -> None:
    """Write at the right end of the line, or on the next lines if there is no room."""
    artist = sheet.text(sheet.width, text, ha="right", **style)
    if taken + 2 * GAP + sheet.length(artist) > sheet.width * RESERVE:
        artist.remove()
        for line in broken(sheet, text, **style):
            sheet.y += LINE
            sheet.text(0, line, **style)


def broken(sheet: Sheet, text: str, **style: Any) -> list[str]:
    """Break text into lines that are no wider than the sheet, unless a single word is."""
    lines, line = [], ""
    width = sheet.width * RESERVE
    for word in text.split(" "):
        longer = f"{line} {word}" if line else word
        artist = sheet.text(0, longer, **style)
        if line and sheet.length(artist) > width:
            lines.append(line)
            longer = word
        artist.remove()
        line = longer
    return [*lines, line]


def _shade(sheet: Sheet, shading: Shading, level: int) -> str:
    return shades(sheet.theme, shading.scale(level))[abs(level) - 1]
