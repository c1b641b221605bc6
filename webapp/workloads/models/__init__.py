"""What a developer asked for (Workload), each try (Attempt), and what was seen of it."""

from webapp.workloads.models.attempt import Attempt
from webapp.workloads.models.code import CodeBundle
from webapp.workloads.models.log import LogChunk
from webapp.workloads.models.slice import Slice
from webapp.workloads.models.timeline import TimelineEntry
from webapp.workloads.models.workload import Workload

__all__ = ["Attempt", "CodeBundle", "LogChunk", "Slice", "TimelineEntry", "Workload"]
