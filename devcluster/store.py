"""The objects of the cluster, their versions and their ends.

One lock, one revision counter for everything (as etcd has), plain dicts copied in and out. A call
is one transaction: what it changes, cascades included, is written to disk together, then told to
subscribers outside the lock. Validation, defaults and patches are the API's business; controllers
use the store directly.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
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
from devcluster.history import CHANGES_KEPT, Change, History
from devcluster.objects import FOREGROUND, Key, Object
from devcluster.persistence import Persistence, Write
from devcluster.resources import NAMESPACES, Resource, by_kind
from devcluster.table import ObjectTable

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
Subscriber = Callable[[str, Resource, Object], None]
INITIAL_NAMESPACES = ("default", "kube-system")


@dataclass
class _Batch:
    """The changes of one call, so that they can be saved together or undone together."""

    changes: list[tuple[Resource, Change]] = field(default_factory=list)
    undo: list[tuple[Resource, Key, Object | None]] = field(default_factory=list)
    revision_before: int = 0


class Store:
    def __init__(
        self,
        path: Path | None = None,
        *,
        now: Callable[[], datetime] = objects.utc_now,
        changes_kept: int = CHANGES_KEPT,
    ) -> None:
        """`path` is the SQLite file (None.

        Memory only). Watch history starts anew with each process.
        """
        self._lock = threading.RLock()
        self._now = now
        self._persistence = Persistence(path)
        self._table = ObjectTable()
        self._subscribers: list[Subscriber] = []
        self._batch: _Batch | None = None
        self._revision, rows = self._persistence.load()
        for row in rows:
            if row.body is not None:
                self._table.load(row.storage, (row.namespace, row.name), row.body)
        self._history = History(self._revision, changes_kept)
        for name in INITIAL_NAMESPACES:
            if self._table.get(NAMESPACES, ("", name)) is None:
                self.create(NAMESPACES, {"metadata": {"name": name}})

    def close(self) -> None:
        with self._lock:
            self._persistence.close()

    # Reading

    @property
    def revision(self) -> int:
        return self._revision

    def now(self) -> datetime:
        return self._now()

    def get(self, res: Resource, namespace: str | None, name: str) -> Object:
        """A copy. NotFound when there is none."""
        with self._lock:
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
        with self._lock:
            found = self._table.rows(res, namespace)
            revision = self._revision
        found.sort(key=lambda row: row[0])
        return [obj for _, obj in found], revision

    def changes_since(self, res: Resource, revision: int) -> Changes:
        """Changes after `revision`, oldest first and read-only.

        Expired (410) when they are no longer kept.
        """
        with self._lock:
            return self._history.since(res.storage, revision)

    def subscribe(self, fn: Subscriber) -> Callable[[], None]:
        """Call `fn(type, resource, object)` after each committed change, outside the lock; returns
        the way out.

        `fn` must be quick (enqueue). It gets the stored object: read, don't write.
        """
        self._subscribers = [*self._subscribers, fn]

        def unsubscribe() -> None:
            self._subscribers = [known for known in self._subscribers if known is not fn]

        return unsubscribe

    # Writing

    def create(self, res: Resource, obj: Object, *, dry_run: bool = False) -> Object:
        """Store a new object as given (status too) and return it with its metadata filled."""
        new = objects.copied(obj)
        objects.stamp_new(res, new, self._now())
        key = objects.key_of(res, new)
        with self._operation():
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
            self._put(res, key, new, "ADDED")
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
        with self._operation():
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
        """Let `fn` change a copy in place and store it; nothing is written, nobody told, when it
        changed nothing.

        With subresource "status" only the status is kept; with None everything `fn` changed, status included.
        """
        with self._operation():
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
        with self._operation():
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
                    self._put(res, key, marked, "MODIFIED")
                self._end_dependents(res, marked)
            else:
                marked = self._remove(res, key)
            return objects.copied(marked)

    # Inside a transaction

    @contextmanager
    def _operation(self) -> Iterator[None]:
        with self._lock:
            if self._batch is not None:  # a cascade inside a call
                yield
                return
            batch = self._batch = _Batch(revision_before=self._revision)
            try:
                yield
                self._commit(batch)
            except BaseException:
                self._roll_back(batch)
                raise
            finally:
                self._batch = None
        for res, change in batch.changes:
            for subscriber in self._subscribers:
                subscriber(change.type, res, change.obj)

    def _commit(self, batch: _Batch) -> None:
        if not batch.changes:
            return
        writes = []
        for res, change in batch.changes:
            body = None if change.type == "DELETED" else change.obj
            writes.append(Write(res.storage, *objects.key_of(res, change.obj), body))
        self._persistence.save(self._revision, writes)
        for res, change in batch.changes:
            self._history.add(res.storage, change)

    def _roll_back(self, batch: _Batch) -> None:
        for res, key, before in reversed(batch.undo):
            self._table.set(res, key, before)
        self._revision = batch.revision_before

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
        self._put(res, key, merged, "MODIFIED")
        is_waiting = res is NAMESPACES and self._table.contents(key[1])
        if objects.is_deleting(merged) and objects.may_go(merged) and not is_waiting:
            merged = self._remove(res, key)
        return objects.copied(merged)

    def _put(self, res: Resource, key: Key, obj: Object, change_type: str) -> None:
        before = self._table.get(res, key)
        self._revision += 1
        obj["metadata"]["resourceVersion"] = str(self._revision)
        self._record(res, key, before, Change(self._revision, change_type, obj, before))
        self._table.set(res, key, obj)

    def _remove(self, res: Resource, key: Key) -> Object:
        before = self._require(res, *key)
        last: Object = {**before, "metadata": dict(before["metadata"])}
        self._revision += 1
        last["metadata"]["resourceVersion"] = str(self._revision)
        self._record(res, key, before, Change(self._revision, "DELETED", last, before))
        self._table.set(res, key, None)
        self._after_removal(last)
        return last

    def _record(self, res: Resource, key: Key, before: Object | None, change: Change) -> None:
        if self._batch is None:
            raise RuntimeError("a change outside a transaction")
        self._batch.changes.append((res, change))
        self._batch.undo.append((res, key, before))

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
            self._put(res, key, released, "MODIFIED")

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
