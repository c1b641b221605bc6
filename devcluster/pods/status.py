"""A pod's status as the kubelet writes it. Pure: a pod and a sight in, a status out."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from devcluster.objects import json_copy, timestamp
from devcluster.pods.base import Sight, Stage

Object = dict[str, Any]


class PodStatus:
    def __init__(self, pod: Object, ip: str, host_ip: str) -> None:
        self._pod = pod
        self._old: Object = pod.get("status") or {}
        self._ip = ip
        self._host_ip = host_ip

    def of(self, sight: Sight) -> Object:
        """The status for how the containers stand."""
        if sight.stage is Stage.STARTING:
            return self.waiting("ContainerCreating", sight.message)
        if sight.stage is Stage.EXITED:
            phase = "Succeeded" if sight.exit_code == 0 else "Failed"
            return self._status(phase, False, {"terminated": _terminated(sight)}, sight)
        started = {"startedAt": timestamp(sight.started_at)} if sight.started_at else {}
        return self._status("Running", sight.stage is Stage.READY, {"running": started}, sight)

    def waiting(self, reason: str, message: str) -> Object:
        state = {"reason": reason, **({"message": message} if message else {})}
        return self._status("Pending", False, {"waiting": state}, None)

    def backing_off(self, sight: Sight) -> Object:
        """Ended and about to start again in place; `restartCount` counts this end."""
        state = {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off restarting"}}
        status = self._status("Running", False, state, None)
        for container in status["containerStatuses"]:
            container["restartCount"] = self.restart_count() + 1
            container["lastState"] = {"terminated": _terminated(sight)}
        return status

    def is_running(self) -> bool:
        return any("running" in (c.get("state") or {}) for c in self._containers())

    def is_backing_off(self) -> bool:
        return any(
            ((c.get("state") or {}).get("waiting") or {}).get("reason") == "CrashLoopBackOff"
            for c in self._containers()
        )

    def restart_count(self) -> int:
        return max((int(c.get("restartCount", 0)) for c in self._containers()), default=0)

    def _containers(self) -> list[Object]:
        return self._old.get("containerStatuses") or []

    def _status(self, phase: str, ready: bool, state: Object, sight: Sight | None) -> Object:
        old = {container["name"]: container for container in self._containers()}
        containers = []
        for container in self._pod["spec"]["containers"]:
            before = old.get(container["name"], {})
            containers.append(
                {
                    "name": container["name"],
                    "image": container.get("image", ""),
                    "imageID": "",
                    "ready": ready,
                    "started": "running" in state,
                    "restartCount": before.get("restartCount", 0),
                    "state": json_copy(state),
                    "lastState": json_copy(before.get("lastState") or {}),
                }
            )
        status: Object = {
            "phase": phase,
            "conditions": self._conditions(phase, ready),
            "hostIP": self._host_ip,
            "hostIPs": [{"ip": self._host_ip}],
            "startTime": self._old.get("startTime"),
            "containerStatuses": containers,
            "qosClass": "Burstable",
        }
        if phase == "Failed" and sight is not None and sight.reason == "NodeLost":
            status["reason"], status["message"] = sight.reason, sight.message
        if (self._ip and phase != "Pending") or self._old.get("podIP"):
            status["podIP"], status["podIPs"] = self._ip, [{"ip": self._ip}]
        return status

    def _conditions(self, phase: str, ready: bool) -> list[Object]:
        over = phase in ("Succeeded", "Failed")
        not_ready = {
            "reason": "PodCompleted" if phase == "Succeeded" else "ContainersNotReady",
            "message": "containers with unready status: "
            f"[{' '.join(c['name'] for c in self._pod['spec']['containers'])}]",
        }
        detail = {} if ready else ({"reason": "PodFailed"} if phase == "Failed" else not_ready)
        return [
            _condition("PodReadyToStartContainers", not over),
            _condition("Initialized", True),
            _condition("Ready", ready, **detail),
            _condition("ContainersReady", ready, **detail),
            _condition("PodScheduled", True),
        ]

    @staticmethod
    def with_times(old: Object, new: Object, now: datetime) -> Object:
        """Fill in when each condition last changed, and the pod's start."""
        before = {condition["type"]: condition for condition in old.get("conditions") or []}
        result: Object = json_copy(new)
        result["startTime"] = old.get("startTime") or timestamp(now)
        for condition in result["conditions"]:
            same = before.get(condition["type"])
            if same is not None and same["status"] == condition["status"]:
                condition["lastTransitionTime"] = same["lastTransitionTime"]
            else:
                condition["lastTransitionTime"] = timestamp(now)
        return result


def _condition(type_: str, is_true: bool, **detail: str) -> Object:
    status = "True" if is_true else "False"
    return {"type": type_, "status": status, "lastProbeTime": None, **detail}


def _terminated(sight: Sight) -> Object:
    ended: Object = {
        "exitCode": sight.exit_code,
        "reason": sight.reason or ("Completed" if sight.exit_code == 0 else "Error"),
    }
    if sight.message:
        ended["message"] = sight.message
    if sight.started_at:
        ended["startedAt"] = timestamp(sight.started_at)
    if sight.finished_at:
        ended["finishedAt"] = timestamp(sight.finished_at)
    return ended
