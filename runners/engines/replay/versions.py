"""The version of the replay server's own behaviour: what it matches, when it writes, how it ends."""

VERSION = "1.0.0"
