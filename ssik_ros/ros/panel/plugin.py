"""The plugin that rqt loads to show the panel for inverse kinematics; ``config/rqt/plugin.xml`` names its class."""

from typing import Any

from rqt_gui_py.plugin import Plugin

from ssik_ros.ros.panel.panel_widget import PanelWidget


class IkPanel(Plugin):
    """The rqt plugin: one window with a :class:`PanelWidget`."""

    def __init__(self, context: Any) -> None:
        """
        Add the widget to the window.

        :param context: has the node of rqt, and takes the widget.
        """
        super().__init__(context)
        self.setObjectName('IkPanel')
        self._widget = PanelWidget(context.node)
        if context.serial_number() > 1:
            title = self._widget.windowTitle()
            self._widget.setWindowTitle(f'{title} ({context.serial_number()})')
        context.add_widget(self._widget)

    def shutdown_plugin(self) -> None:
        """End the work of the widget before rqt destroys it."""
        self._widget.close_panel()
