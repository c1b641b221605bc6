"""The objects of the cluster, their versions and their ends.

One lock, one revision counter for everything (as etcd has), plain dicts copied in and out. A call
is one transaction: what it changes, cascades included, is written to disk together, then told to
subscribers outside the lock. Validation, defaults and patches are the API's business; controllers
use the store directly.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from devcluster import objects, selectors
from devcluster.errors import (
    AlreadyExists,
    BadRequest,
    Conflict,
    Expired,
    Forbidden,
    Invalid,
    NotFound,
    StoreError,
)
from devcluster.history import CHANGES_KEPT, Change
from devcluster.ledger import Ledger, Subscriber
from devcluster.objects import FOREGROUND, Key, Object
from devcluster.resources import NAMESPACES, Resource, by_kind

__all__ = [
    "AlreadyExists",
    "BadRequest",
    "Conflict",
    "Expired",
    "Forbidden",
    "Invalid",
    "NotFound",
    "Store",
    "StoreError",
]

Objects = list[Object]  # named here: inside the class `list` is the method
Changes = list[Change]
INITIAL_NAMESPACES = ("default", "kube-system")


class Store:
    def __init__(
        self,
        path: Path | None = None,
        *,
        now: Callable[[], datetime] = objects.utc_now,
        changes_kept: int = CHANGES_KEPT,
    ) -> None:
        """`path` is the SQLite file; None keeps everything in memory.

        Watch history starts anew with each process.
        """
        self._now = now
        self._ledger = Ledger(path, changes_kept)
        self._table = self._ledger.table
        for name in INITIAL_NAMESPACES:
            if self._table.get(NAMESPACES, ("", name)) is None:
                self.create(NAMESPACES, {"metadata": {"name": name}})

    def close(self) -> None:
        self._ledger.close()

    # Reading

    @property
    def revision(self) -> int:
        return self._ledger.revision

    def now(self) -> datetime:
        return self._now()

    def get(self, res: Resource, namespace: str | None, name: str) -> Object:
        """A copy. NotFound when there is none."""
        with self._ledger.lock:
            return objects.copied(self._require(res, namespace, name))

    def list(
        self,
        res: Resource,
        namespace: str | None = None,
        *,
        label_selector: str | None = None,
        field_selector: str | None = None,
    ) -> tuple[Objects, str]:
        """Copies in order of namespace and name, and the resourceVersion they were read at."""
        matches_labels = selectors.labels(label_selector)
        matches_fields = selectors.fields(res, field_selector)
        shared, revision = self.view(res, namespace)
        found = [objects.copied(o) for o in shared if matches_labels(o) and matches_fields(o)]
        return found, str(revision)

    def view(self, res: Resource, namespace: str | None = None) -> tuple[Objects, int]:
        """As `list`, but the stored objects themselves, for who only reads.

        Stored objects never change in place.
        """
        with self._ledger.lock:
            found = self._table.rows(res, namespace)
            revision = self._ledger.revision
        found.sort(key=lambda row: row[0])
        return [obj for _, obj in found], revision

    def changes_since(self, res: Resource, revision: int) -> Changes:
        """Changes after `revision`, oldest first and read-only.

        Expired (410) when they are no longer kept.
        """
        with self._ledger.lock:
            return self._ledger.history.since(res.storage, revision)

    def subscribe(self, fn: Subscriber) -> Callable[[], None]:
        """Call `fn(type, resource, object)` after each committed change, outside the lock; returns
        the way out.

        `fn` must be quick (enqueue). It gets the stored object: read, don't write.
        """
        return self._ledger.subscribe(fn)

    # Writing

    def create(self, res: Resource, obj: Object, *, dry_run: bool = False) -> Object:
        """Store a new object as given (status too) and return it with its metadata filled."""
        new = objects.copied(obj)
        objects.stamp_new(res, new, self._now())
        key = objects.key_of(res, new)
        with self._ledger.transaction():
            if res.namespaced:
                self._check_namespace(res, key)
            if self._table.get(res, key) is not None:
                raise AlreadyExists(res, key[1])
            if res is NAMESPACES:
                new.setdefault("spec", {"finalizers": ["kubernetes"]})
                new.setdefault("status", {"phase": "Active"})
                new["metadata"].setdefault("labels", {})["kubernetes.io/metadata.name"] = key[1]
            if dry_run:
                new["metadata"].pop("resourceVersion", None)
                return new
            self._ledger.put(res, key, new, "ADDED")
            if self._table.is_orphan(new):
                # Its owner is already gone (a create that raced with a delete): collected as the
                # real one does.
                self.delete(res, key[0], key[1])
        return objects.copied(new)

    def update(
        self, res: Resource, obj: Object, *, subresource: str | None = None, dry_run: bool = False
    ) -> Object:
        """Replace the object, or only its status.

        Conflict when it names a stale resourceVersion or another uid.
        """
        with self._ledger.transaction():
            metadata = obj.get("metadata", {})
            current = self._require(res, metadata.get("namespace"), metadata.get("name", ""))
            self._check_preconditions(
                res, current, metadata.get("uid"), metadata.get("resourceVersion")
            )
            merged = objects.merged_update(res, current, obj, subresource)
            return self._replace(res, current, merged, dry_run=dry_run)

    def mutate(
        self,
        res: Resource,
        namespace: str | None,
        name: str,
        fn: Callable[[Object], None],
        *,
        subresource: str | None = None,
    ) -> Object:
        """Let `fn` change a copy in place and store it; when it changed nothing, nobody is told.

        With subresource "status" only the status is kept; with None everything, status included.
        """
        with self._ledger.transaction():
            current = self._require(res, namespace, name)
            changed = objects.copied(current)
            fn(changed)
            if subresource is None:
                objects.keep_server_owned(current, changed)
            else:
                changed = objects.merged_update(res, current, changed, subresource)
            return self._replace(res, current, changed)

    def delete(
        self,
        res: Resource,
        namespace: str | None,
        name: str,
        *,
        uid: str | None = None,
        resource_version: str | None = None,
        propagation: str = "Background",
        grace_period: int | None = None,
        dry_run: bool = False,
    ) -> Object:
        """Remove the object, or mark it when a finalizer, a kubelet or its dependents must be
        waited for.

        A bound pod waits for its kubelet, which calls again with grace_period=0. Returns the object
        as it last was.
        """
        with self._ledger.transaction():
            current = self._require(res, namespace, name)
            self._check_preconditions(res, current, uid, resource_version)
            if dry_run:
                return objects.copied(current)
            marked = objects.copied(current)
            key = objects.key_of(res, current)
            own_uid = marked["metadata"]["uid"]
            if propagation == "Orphan":
                self._release_dependents(own_uid)
            elif propagation == "Foreground" and self._table.dependents(own_uid):
                finalizers = marked["metadata"].setdefault("finalizers", [])
                if FOREGROUND not in finalizers:
                    finalizers.append(FOREGROUND)
            objects.mark_deleting(marked, self._now(), objects.grace_s(res, current, grace_period))
            if res is NAMESPACES:
                marked["status"] = {**marked.get("status", {}), "phase": "Terminating"}
            if not objects.may_go(marked) or (res is NAMESPACES and self._table.contents(name)):
                if marked != current:
                    self._ledger.put(res, key, marked, "MODIFIED")
                self._end_dependents(res, marked)
            else:
                marked = self._remove(res, key)
            return objects.copied(marked)

    # Inside a transaction

    def _require(self, res: Resource, namespace: str | None, name: str) -> Object:
        found = self._table.get(res, ((namespace or "") if res.namespaced else "", name))
        if found is None:
            raise NotFound(res, name)
        return found

    def _replace(
        self, res: Resource, current: Object, merged: Object, *, dry_run: bool = False
    ) -> Object:
        if res.has_generation and objects.content(merged) != objects.content(current):
            merged["metadata"]["generation"] = current["metadata"].get("generation", 0) + 1
        if merged == current or dry_run:
            return objects.copied(merged)
        key = objects.key_of(res, current)
        self._ledger.put(res, key, merged, "MODIFIED")
        is_waiting = res is NAMESPACES and self._table.contents(key[1])
        if objects.is_deleting(merged) and objects.may_go(merged) and not is_waiting:
            merged = self._remove(res, key)
        return objects.copied(merged)

    def _remove(self, res: Resource, key: Key) -> Object:
        last = self._ledger.remove(res, key, self._require(res, *key))
        self._after_removal(last)
        return last

    def _check_namespace(self, res: Resource, key: Key) -> None:
        namespace = self._table.get(NAMESPACES, ("", key[0]))
        if namespace is None:
            raise NotFound(NAMESPACES, key[0])
        if objects.is_deleting(namespace):
            why = (
                f"unable to create new content in namespace {key[0]} because it is being terminated"
            )
            raise Forbidden(res, key[1], why)

    def _check_preconditions(
        self, res: Resource, current: Object, uid: str | None, version: str | None
    ) -> None:
        metadata = current["metadata"]
        if uid and uid != metadata["uid"]:
            why = f"Precondition failed: UID in precondition: {uid}, UID in object meta: "
            raise Conflict(res, metadata["name"], why + metadata["uid"])
        if version and version != metadata["resourceVersion"]:
            raise Conflict(res, metadata["name"])

    # Cascades

    def _end_dependents(self, res: Resource, owner: Object) -> None:
        """Start the end of what a waiting deletion waits for.

        A namespace's contents, foreground dependents.
        """
        waited_for: list[tuple[Resource, Key]] = []
        if res is NAMESPACES:
            waited_for = self._table.contents(owner["metadata"]["name"])
        elif FOREGROUND in owner["metadata"].get("finalizers", ()):
            waited_for = self._table.dependents(owner["metadata"]["uid"])
        for dependent, key in waited_for:
            found = self._table.get(dependent, key)
            if found is not None and not objects.is_deleting(found):
                how = "Background" if res is NAMESPACES else "Foreground"
                self.delete(dependent, *key, propagation=how)

    def _release_dependents(self, owner_uid: str) -> None:
        """Orphan: take the owner out of its dependents instead of deleting them."""
        for res, key in self._table.dependents(owner_uid):
            released = objects.copied(self._require(res, *key))
            owners = [o for o in objects.owners_of(released) if o["uid"] != owner_uid]
            released["metadata"]["ownerReferences"] = owners
            self._ledger.put(res, key, released, "MODIFIED")

    def _after_removal(self, gone: Object) -> None:
        """Collect what it owned; let go of owners and of a namespace that waited for it."""
        metadata = gone["metadata"]
        for res, key in self._table.dependents(metadata["uid"]):
            found = self._table.get(res, key)
            if found is not None and self._table.is_orphan(found):
                self.delete(res, *key)
        for owner in objects.owners_of(gone):
            self._finish_foreground(metadata.get("namespace", ""), owner)
        namespace = self._table.get(NAMESPACES, ("", metadata.get("namespace", "")))
        if namespace is not None and objects.is_deleting(namespace):
            key = objects.key_of(NAMESPACES, namespace)
            if objects.may_go(namespace) and not self._table.contents(key[1]):
                self._remove(NAMESPACES, key)

    def _finish_foreground(self, namespace: str, reference: Object) -> None:
        try:
            res = by_kind(reference["kind"], reference["apiVersion"])
        except KeyError:
            return
        key = (namespace if res.namespaced else "", reference["name"])
        owner = self._table.get(res, key)
        if owner is None or owner["metadata"]["uid"] != reference["uid"]:
            return
        finalizers = owner["metadata"].get("finalizers", [])
        if FOREGROUND in finalizers and not self._table.dependents(reference["uid"]):
            freed = objects.copied(owner)
            freed["metadata"]["finalizers"] = [f for f in finalizers if f != FOREGROUND]
            self._replace(res, owner, freed)
