"""The version of everything this package defines: a changed rule, state or field changes it."""

DEFINITION_VERSION = "2026.12.5"
