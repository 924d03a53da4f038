"""The page on which a browser shows a session, served by viser. Only this folder needs the package viser."""
