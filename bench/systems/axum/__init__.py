"""The extension's engine behind HTTP, without Python."""
