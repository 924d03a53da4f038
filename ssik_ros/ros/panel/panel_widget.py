"""The Qt widget of the rqt panel: it shows a :class:`ServicePanel`, and passes clicks and typed texts to it."""

from collections.abc import Callable, Sequence
import contextlib
from functools import partial

from python_qt_binding.QtCore import Qt, QTimer, Signal
from python_qt_binding.QtGui import QBrush, QColor
from python_qt_binding.QtWidgets import (
    QAbstractItemView,
    QCheckBox,
    QComboBox,
    QGridLayout,
    QGroupBox,
    QHBoxLayout,
    QHeaderView,
    QLabel,
    QLineEdit,
    QPlainTextEdit,
    QPushButton,
    QTableWidget,
    QTableWidgetItem,
    QVBoxLayout,
    QWidget,
)
from rclpy.node import Node

from ssik_ros.ros.panel.node_client import NodeClient
from ssik_ros.view.branch_table import BranchRow, column_titles, KEYS, name_of, write_numbers
from ssik_ros.view.pictures.robot_pictures import GHOSTS
from ssik_ros.view.pose_text import FORMS
from ssik_ros.view.reasons import (
    DETAILS_TITLE,
    HELP_TITLE,
    REACHED_HAS_BRANCHES,
    TAKE_BACK,
)
from ssik_ros.view.service_panel import (
    FRAME,
    NUMBERS,
    ServicePanel,
    ServiceRemedy,
    SOURCES,
    TargetChoice,
)

TICK = 200
"""Time between two looks at deadlines [ms]."""
LOOK_EVERY = 5
"""Ticks between two looks for nodes."""
DETAILS_HEIGHT = 110
"""Largest height of the details, which scroll [px]."""
RANK = Qt.ItemDataRole.UserRole


class PanelWidget(QWidget):
    """The widget of the rqt panel: selectors of node, group, tip and target, the table of branches, causes and remedies."""

    _posted = Signal(object)
    """Carries functions of other threads to the thread of Qt."""

    def __init__(self, node: Node) -> None:
        """
        Make the controls and begin to look for nodes.

        :param node: the node of rqt, which another thread spins.
        """
        super().__init__()
        self.setObjectName('ssik_ros')
        self.setWindowTitle('Inverse kinematics (ssik_ros)')
        self._posted.connect(self._run, Qt.ConnectionType.QueuedConnection)
        self.client = NodeClient(
            node,
            self._post,
            take_robot=lambda robot: self.panel.take_robot(robot),
            move_marker=lambda: self.panel.move_marker(),
        )
        self.panel = ServicePanel(self.client, self._refresh)
        self._remedies: list[ServiceRemedy] = []
        layout = QVBoxLayout(self)
        for part in (self._make_choices(), self._make_buttons()):
            layout.addLayout(part)
        self.status = _make_label()
        self.table = self._make_table()
        layout.addWidget(self.status)
        layout.addWidget(self.table, 1)
        self._make_reason(layout)
        self._ticks = 0
        self._timer = QTimer(self)
        self._timer.timeout.connect(self._tick)
        self._timer.start(TICK)
        self._refresh()

    def close_panel(self) -> None:
        """Stop the timer and forget the node."""
        self._timer.stop()
        self.client.close()

    def _post(self, act: Callable[[], None]) -> None:
        """Run a function in the thread of Qt; called in any thread, and without effect once Qt has deleted the widget."""
        with contextlib.suppress(RuntimeError):
            self._posted.emit(act)

    def _run(self, act: Callable[[], None]) -> None:
        act()

    # Controls.

    def _make_choices(self) -> QGridLayout:
        """Return the selectors of node, group, tip and target."""
        grid = QGridLayout()
        self.node, self.group, self.link = QComboBox(), QComboBox(), QComboBox()
        self.source, self.frame, self.numbers = QComboBox(), QLineEdit(), QLineEdit()
        self.link.setEditable(True)
        self.source.addItems(SOURCES)
        self.frame.setPlaceholderText('a link, or any frame of tf; empty: the model frame')
        self.numbers.setPlaceholderText(FORMS)
        rows = (
            *(('node', self.node), ('group', self.group), ('tip', self.link)),
            *(('target', self.source), ('in frame', self.frame), ('pose', self.numbers)),
        )
        for place, (word, control) in enumerate(rows):
            row, column = place % 3, 2 * (place // 3)
            grid.addWidget(QLabel(word), row, column)
            grid.addWidget(control, row, column + 1)
        grid.setColumnStretch(1, 1)
        grid.setColumnStretch(3, 2)
        self.node.textActivated.connect(self.panel.choose_node)
        self.group.textActivated.connect(self.panel.choose_group)
        self.link.textActivated.connect(self.panel.choose_link)
        self.link.lineEdit().editingFinished.connect(self._take_link)
        self.source.textActivated.connect(lambda _: self._take_target())
        self.frame.editingFinished.connect(self._take_target)
        self.numbers.editingFinished.connect(self._take_target)
        return grid

    def _make_buttons(self) -> QHBoxLayout:
        """Return a row of controls: options, the order of the table, and the buttons "Solve" and "Why not?"."""
        row = QHBoxLayout()
        self.avoid, self.windings = QCheckBox('avoid collisions'), QCheckBox('list windings')
        self.order, self.solve = QComboBox(), QPushButton('Solve')
        self.why_not = QPushButton('Why not?')
        self.order.addItems(tuple(KEYS))
        for control in (self.avoid, self.windings, QLabel('sort by'), self.order):
            row.addWidget(control)
        row.addStretch(1)
        row.addWidget(self.solve)
        row.addWidget(self.why_not)
        for box in (self.avoid, self.windings):
            box.clicked.connect(lambda _: self._take_options())
        self.order.textActivated.connect(self._take_order)
        self.solve.clicked.connect(lambda _: self.panel.solve())
        self.why_not.clicked.connect(lambda _: self.panel.explain())
        return row

    def _make_table(self) -> QTableWidget:
        """Return the empty table of branches; a click on a row shows its branch."""
        table = QTableWidget(0, len(column_titles('')))
        table.verticalHeader().hide()
        # The end of a name tells the branches of a redundant arm apart.
        table.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        table.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        table.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        table.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        header = table.horizontalHeader()
        header.setHighlightSections(False)
        header.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        header.setSectionResizeMode(1, QHeaderView.ResizeMode.Stretch)
        table.cellClicked.connect(
            lambda row, _: self.panel.show_branch(table.item(row, 0).data(RANK))
        )
        return table

    def _make_reason(self, layout: QVBoxLayout) -> None:
        """Add widgets to a layout for the result of "Why not?": nearest posture, remedies and details."""
        self.nearest, self.relaxed, self.details = _make_label(), _make_label(), QPlainTextEdit()
        self.details.setReadOnly(True)
        self.details.setMaximumHeight(DETAILS_HEIGHT)
        self.help = QGroupBox(HELP_TITLE)
        self._help_row = QVBoxLayout(self.help)
        self.restore = QPushButton(TAKE_BACK)
        self.restore.clicked.connect(lambda _: self.panel.take_back())
        self.report = QGroupBox(DETAILS_TITLE)
        QVBoxLayout(self.report).addWidget(self.details)
        for control in (self.nearest, self.help, self.relaxed, self.restore, self.report):
            layout.addWidget(control)

    # Actions of the user.

    def _take_link(self) -> None:
        self.link.lineEdit().setModified(False)
        link = self.link.currentText().strip()
        if link != self.panel.link:
            self.panel.choose_link(link)

    def _take_target(self) -> None:
        for line in (self.frame, self.numbers):
            line.setModified(False)
        source = self.source.currentText()
        self.panel.choose_target(TargetChoice(source, self.frame.text(), self.numbers.text()))

    def _take_options(self) -> None:
        self.panel.choose_options(self.avoid.isChecked(), self.windings.isChecked())

    def _take_order(self, order: str) -> None:
        self.panel.order = order
        self._refresh()

    def _tick(self) -> None:
        self.client.tick()
        if self._ticks % LOOK_EVERY == 0:
            self.panel.look()
        self._ticks += 1

    # Texts, table and buttons.

    def _refresh(self) -> None:
        """Show the present state of the panel."""
        panel = self.panel
        summary = panel.summary
        groups = () if summary is None else tuple(group.name for group in summary.groups)
        _offer(self.node, panel.nodes, panel.node)
        _offer(self.group, groups, '' if panel.group is None else panel.group.name)
        _offer(self.link, () if panel.group is None else panel.group.tips, panel.link)
        self.source.setCurrentText(panel.target.source)
        _write(self.frame, panel.target.frame)
        _write(self.numbers, panel.target.numbers)
        self.frame.setEnabled(panel.target.source in (FRAME, NUMBERS))
        self.numbers.setEnabled(panel.target.source == NUMBERS)
        self.avoid.setChecked(panel.avoids_collisions)
        for button in (self.solve, self.why_not):
            button.setEnabled(panel.group is not None)
        self.status.setText(panel.status)
        self._show_rows(panel.list_rows())
        self._show_reason()

    def _show_rows(self, rows: Sequence[BranchRow]) -> None:
        """Show the branches, each with the colour of its ghost in the browser."""
        table, unit = self.table, self.panel.unit
        table.setHorizontalHeaderLabels(column_titles(unit))
        table.setRowCount(len(rows))
        for place, row in enumerate(rows):
            cells = [str(row.rank), name_of(row), *write_numbers(row, unit)]
            for column, text in enumerate(cells):
                table.setItem(place, column, QTableWidgetItem(text))
            first = table.item(place, 0)
            first.setData(RANK, row.rank)
            first.setBackground(QBrush(QColor.fromRgbF(*GHOSTS[(row.rank - 1) % len(GHOSTS)])))
            if row.rank == self.panel.shown + 1:
                table.selectRow(place)

    def _show_reason(self) -> None:
        """Show the nearest posture, a button for each remedy, and the details."""
        panel = self.panel
        explained = panel.explanation is not None
        idle = '' if explained or panel.branches else REACHED_HAS_BRANCHES
        _say(self.nearest, panel.nearest_text or idle)
        _say(self.relaxed, '\n'.join(panel.relaxed))
        self.details.setPlainText('\n'.join(panel.details))
        self.report.setVisible(bool(panel.details))
        self.restore.setVisible(bool(panel.relaxed))
        remedies = panel.list_remedies()
        if remedies != self._remedies:
            self._offer_remedies(remedies)
        self.help.setVisible(bool(remedies))

    def _offer_remedies(self, remedies: list[ServiceRemedy]) -> None:
        while self._help_row.count():
            self._help_row.takeAt(0).widget().deleteLater()
        self._remedies = remedies
        for remedy in remedies:
            button = QPushButton(remedy.label.replace('&', '&&'))
            button.clicked.connect(partial(_press, remedy.act))
            self._help_row.addWidget(button)


def _press(act: Callable[[], None], _: bool) -> None:
    """Call ``act`` after a click on a button; whether the button is checked, the second argument, is ignored."""
    act()


def _make_label() -> QLabel:
    """Return a label for text from a node, which is never read as markup."""
    label = QLabel()
    label.setTextFormat(Qt.TextFormat.PlainText)
    label.setWordWrap(True)
    label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
    return label


def _say(label: QLabel, text: str) -> None:
    """Show a text; hide the label without one."""
    label.setText(text)
    label.setVisible(bool(text))


def _write(line: QLineEdit, text: str) -> None:
    """Show a text unless the user is typing another one."""
    if not line.hasFocus() or not line.isModified():
        line.setText(text)


def _offer(box: QComboBox, names: Sequence[str], chosen: str) -> None:
    """
    Fill a selector with names, unless it has the same names already, and select ``chosen``.

    In an editable box with the same names, a text that the user is typing stays. A box that is not editable ignores
    ``chosen`` if it is not one of the names.
    """
    if [box.itemText(place) for place in range(box.count())] != list(names):
        box.clear()
        box.addItems(names)
    if box.isEditable():
        _write(box.lineEdit(), chosen)
    else:
        box.setCurrentText(chosen)
