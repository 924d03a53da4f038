"""Pictures of robots without a window: solids, a renderer, still pictures and animations."""

from ssik_ros.view.pictures.robot_pictures import RobotPictures, save_animation, save_picture

__all__ = ['RobotPictures', 'save_animation', 'save_picture']
