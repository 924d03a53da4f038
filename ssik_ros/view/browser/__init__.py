"""The page that a browser shows, served by viser; nothing below this folder needs it."""
