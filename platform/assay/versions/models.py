"""What runs have shown of version records. Without a row here a record is the version's own word."""

from django.db import models

from assay.ledger.models import Bundle, Run


class Confirmation(models.Model):
    """A link from a record to the run that showed it. Rows are only added; triggers hold that.

    An empty ``statement`` is the version itself: that it ran as pinned. Any other is a name of one of the
    record's changes.
    """

    record = models.CharField(max_length=80, db_index=True)  # engine and version: "vllm 0.32.0"
    statement = models.CharField(max_length=200, blank=True)
    run = models.ForeignKey(Run, on_delete=models.PROTECT, related_name="confirmations")
    bundle = models.ForeignKey(Bundle, on_delete=models.PROTECT, related_name="confirmations")
    strength = models.CharField(
        max_length=6
    )  # runners.protocol.events.EvidenceStrength: log | trace
    evidence = (
        models.JSONField()
    )  # runners.protocol.documents.Pointer of each piece; null: an answer
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["record", "statement", "bundle"], name="one_confirmation_per_bundle"
            )
        ]
