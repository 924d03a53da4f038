"""Pictures of robots without a window: surfaces of a robot, a renderer, still pictures, animations and plots."""

from ssik_ros.view.pictures.robot_pictures import RobotPictures, save_animation, save_picture

__all__ = ['RobotPictures', 'save_animation', 'save_picture']
