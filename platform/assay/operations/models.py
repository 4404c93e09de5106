"""What operating leaves on record: which bundles reached the archive, which were let go of, and by whom."""

from django.db import models

from assay.ledger.models import Bundle


class Upload(models.Model):
    """A bundle on its way to an archive, or there: ``sent_at`` is set once it was read back and compared."""

    bundle = models.ForeignKey(Bundle, on_delete=models.PROTECT, related_name="uploads")
    archive = models.CharField(max_length=300)  # its URL, without keys
    sent_at = models.DateTimeField(null=True)
    bytes_sent = models.BigIntegerField(default=0)
    tries = models.PositiveIntegerField(default=0)
    problem = models.TextField(blank=True)
    tried_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["bundle", "archive"], name="one_upload_per_archive")
        ]
        indexes = [models.Index(fields=["archive", "sent_at"], name="upload_pending")]


class Removal(models.Model):
    """That the files of a bundle were let go of. Written before the first byte goes; rows are only added.

    The bundle's row, its readings and everything that was said of it stay.
    """

    bundle = models.OneToOneField(Bundle, on_delete=models.PROTECT, related_name="removal")
    bytes = models.BigIntegerField()
    policy = models.JSONField()  # assay.operations.retention.Policy, as it was asked
    plan = models.CharField(max_length=64)  # digest of the list that was shown before
    by = models.CharField(max_length=150)
    at = models.DateTimeField(auto_now_add=True, db_index=True)
