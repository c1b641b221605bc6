"""What may happen to a workload, each act in one transaction.

People: `submit`, `stop`, `delete`. Watchers: `record_*`, `append_log`. Drivers: `applied`, `refused`, `archived`, `closed`.
"""

from webapp.workloads.actions.intent import delete, stop, submit
from webapp.workloads.actions.logs import append_log
from webapp.workloads.actions.observe import record
from webapp.workloads.actions.progress import applied, applying, archived, close, refused, troubled

__all__ = [
    "append_log",
    "applied",
    "applying",
    "archived",
    "close",
    "delete",
    "record",
    "refused",
    "stop",
    "submit",
    "troubled",
]
