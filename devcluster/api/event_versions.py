"""One event, two spellings: the store keeps core/v1, events.k8s.io/v1 is translated at the door."""

from __future__ import annotations

from devcluster.objects import Object
from devcluster.resources import EVENTS, EVENTS_V1, Resource

# events.k8s.io/v1 name -> core/v1 name
_NAMES = {
    "regarding": "involvedObject",
    "note": "message",
    "reportingController": "reportingComponent",
    "deprecatedSource": "source",
    "deprecatedFirstTimestamp": "firstTimestamp",
    "deprecatedLastTimestamp": "lastTimestamp",
    "deprecatedCount": "count",
}
_BACK = {core: new for new, core in _NAMES.items()}


def outward(resource: Resource, obj: Object) -> Object:
    """The stored object as `resource` shows it."""
    if resource is EVENTS:
        # Go writes these without omitempty; clients sort by them and must find the keys.
        filled: Object = {
            "firstTimestamp": None,
            "lastTimestamp": None,
            "eventTime": None,
            "source": {},
        }
        return {**filled, "reportingComponent": "", "reportingInstance": "", **obj}
    if resource is not EVENTS_V1:
        return obj
    shown = {_BACK.get(key, key): value for key, value in obj.items()}
    shown.setdefault("eventTime", None)
    return {**shown, "apiVersion": EVENTS_V1.api_version}


def inward(resource: Resource, obj: Object) -> Object:
    """What a client sent, as it is stored."""
    if resource is not EVENTS_V1:
        return obj
    kept = {_NAMES.get(key, key): value for key, value in obj.items()}
    return {**kept, "apiVersion": EVENTS.api_version}


def stored_as(resource: Resource) -> Resource:
    return EVENTS if resource is EVENTS_V1 else resource
