"""The words of version records, each from a fixed list."""

from enum import StrEnum


class Status(StrEnum):
    """What the publisher calls a release. A release candidate is never called GA."""

    ga = "GA"
    rc = "RC"
    preview = "preview"
    maintenance = "maintenance"
    roadmap = "roadmap"


class Label(StrEnum):
    """Where a record's words come from."""

    registered = "SOURCE_REGISTERED"  # the source's text was read and is registered
    entry_only = (
        "SOURCE_ENTRY_ONLY"  # only its entry is known: good for a mechanism, for no behaviour
    )
    derived = "DERIVED"  # computed here from stated inputs


class Reading(StrEnum):
    """How strongly a statement was read, weakest first. None of them shows what a run did."""

    listing = "listing"  # an index names it
    third_party = "third_party"  # somebody else's report
    near = "near"  # the source at a commit near the release, not the release itself
    body = "body"  # the text of this release, or its installed package
    parser = "parser"  # the parsers of two installed versions, compared


class Scope(StrEnum):
    """What kind of statement a record makes of an engine."""

    mechanism = "general mechanism"
    implementation = "versioned implementation"
    frontier = "frontier and verification gap"


class Subject(StrEnum):
    flag = "flag"
    value = "value"
    environment = "environment variable"
    command = "command"
    module = "module"
    feature = "feature"
    behaviour = "behaviour"
    metric = "metric"


class ChangeKind(StrEnum):
    added = "added"
    removed = "removed"
    renamed = "renamed"
    deprecated = "deprecated"
    default_changed = "default changed"
    meaning_changed = "meaning changed"
    no_effect = "no effect"


# What a command line written for an older version may trip over.
TRIPPING = frozenset(ChangeKind) - {ChangeKind.added}
VERIFIED = frozenset({Reading.body, Reading.parser})


class Responsibility(StrEnum):
    """What an engine has to do, whatever its classes are called."""

    front_end = "protocol front end"
    admission = "admission and queue"
    scheduler = "scheduler"
    state = "cache and state management"
    runner = "model runner"
    back_end = "execution back end"
    output = "sampling, stopping and output"


class SessionItem(StrEnum):
    """What must be known of an interface before it may be called stateful or not."""

    identity = "how the session identity is made"
    again = "behaviour on re-request"
    restart = "what survives a restart"
    cancel = "whether client cancel reaches the server"
