"""Raw bytes over a Unix socket."""
