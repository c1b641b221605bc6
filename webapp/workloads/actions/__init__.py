"""What may happen to a workload, each act in one transaction.

People: `submit`, `stop`, `delete`. Watchers: `record`, `append_log`. Drivers: `applying`, `applied`,
`refused`, `troubled`, `archived`, `close`.
"""

from webapp.workloads.actions.intent import delete, stop, submit
from webapp.workloads.actions.logs import append_log, begin_log
from webapp.workloads.actions.observe import record
from webapp.workloads.actions.progress import applied, applying, archived, close, refused, troubled

__all__ = [
    "append_log",
    "applied",
    "applying",
    "archived",
    "begin_log",
    "close",
    "delete",
    "record",
    "refused",
    "stop",
    "submit",
    "troubled",
]
