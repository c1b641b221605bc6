"""The objects that Slipway writes, as plain mappings. What is previewed and what is applied both come from here."""

from slipway.manifests.companions import companions_for
from slipway.manifests.compute_class import compute_class_manifest
from slipway.manifests.rayjob import manifest_for

__all__ = ["companions_for", "compute_class_manifest", "manifest_for"]
