import numpy as np

from sk_han.rendering.blocks import Matrix
from sk_han.rendering.figures import plot_matrix


def test_long_names_are_cut_and_leave_room_for_the_shades():
    names = [f"{i} {100 * 'long'}" for i in range(2)]
    ax = plot_matrix(Matrix(names, names, np.eye(2), ("", "")), None, "Report.plot")
    ax.figure.canvas.draw()  # a layout without room would warn
    assert all("…" in label.get_text() for label in ax.get_xticklabels())


def test_long_names_that_differ_in_their_middle_alone_differ():
    names = [f"{50 * 'a'} {i} {50 * 'z'}" for i in range(2)]
    ax = plot_matrix(Matrix(names, names, np.eye(2), ("", "")), None, "Report.plot")
    assert len({label.get_text() for label in ax.get_xticklabels()}) == 2
    assert len({label.get_text() for label in ax.get_yticklabels()}) == 2
