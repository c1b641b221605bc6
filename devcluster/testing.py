"""devcluster inside a test: a real API server on a loopback port, a simulated cluster, a door to script it.

    with DevCluster() as dc:                       # clock="tick": nothing moves by itself
        client = new_client_from_config(str(dc.kubeconfig_path))
        ... create a RayJob ...
        dc.settle()                                # everything that is due happens now
        dc.set_job("SUCCEEDED", log="done\\n")
        dc.advance(3)                              # the operator asks Ray every 3 s

`clock="immediate"` runs on the real clock without delays, on its own threads: for programs that wait by
themselves.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, Literal

from devcluster.capacity import NotProvidable, need_of, tpu_chips
from devcluster.clock import RealClock, TickClock
from devcluster.controllers.names import HOST_INDEX
from devcluster.errors import NotFound
from devcluster.pods.sim import Pace
from devcluster.pods.sim_ray import Script, SimRay
from devcluster.resources import NAMESPACES, PODS, RAYJOBS
from devcluster.server import ApiServer
from devcluster.store import Store
from devcluster.world import World, WorldConfig

Object = dict[str, Any]
PodTest = Callable[[Object], bool]

IMMEDIATE_POLL_S = 0.05


class DevCluster:
    """Use as a context manager. `mode="ray"` starts real Ray nodes and needs `clock="immediate"`."""

    def __init__(
        self,
        mode: Literal["sim", "ray"] = "sim",
        clock: Literal["tick", "immediate"] = "tick",
        *,
        max_hosts: int = 16,
        namespaces: Sequence[str] = (),
        state_dir: Path | None = None,
        pace: Pace | None = None,
        boot_s: float = 0.0,
        job_runs_s: float | None = None,
        port: int = 0,
    ) -> None:
        """`job_runs_s`: a simulated job succeeds by itself after so long; None: it runs until `set_job`."""
        if mode == "ray" and clock == "tick":
            raise ValueError('Real Ray nodes do not follow a test\'s clock; use clock="immediate".')
        self._tick = TickClock() if clock == "tick" else None
        self._clock = self._tick or RealClock()
        self._folder = tempfile.TemporaryDirectory(prefix="devcluster-")
        self.state_dir = state_dir or Path(self._folder.name)
        self.store = Store(now=self._clock.now)
        self.world = World(
            self.store,
            self._clock,
            WorldConfig(
                mode=mode,
                max_hosts=max_hosts,
                state_dir=self.state_dir,
                boot_s=boot_s,
                poll_s=3.0 if self._tick or mode == "ray" else IMMEDIATE_POLL_S,
                pace=pace or Pace(),
                script=Script(run_s=job_runs_s),
            ),
        )
        for name in namespaces:
            self.store.create(NAMESPACES, {"metadata": {"name": name}})
        self._server = ApiServer(self.store, self.world, port=port)
        self.kubeconfig_path = self.state_dir / "kubeconfig"

    def __enter__(self) -> DevCluster:
        self._server.start()
        self._server.write_kubeconfig(self.kubeconfig_path)
        if self._tick is None:
            self.world.start()
        else:
            self.world.look_again()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        self._server.stop()
        self.world.stop()
        self.store.close()
        self._folder.cleanup()

    @property
    def url(self) -> str:
        return self._server.url

    @property
    def token(self) -> str:
        """The administrator's token. The kubeconfig's context `slipway` has Slipway's own."""
        return self._server.token

    @property
    def ca_file(self) -> Path:
        return self._server.ca_file

    # Time

    def settle(self, timeout_s: float = 10.0) -> None:
        """Let everything happen that is due now."""
        if self._tick is not None:
            self.world.settle()
        else:
            self.world.wait_idle(timeout_s)

    def advance(self, seconds: float, *, step_s: float = 1.0) -> None:
        """Move the clock on in steps, settling after each."""
        if self._tick is None:
            raise RuntimeError('Only clock="tick" can be moved.')
        self.settle()
        left = seconds
        while left > 0:
            self._tick.advance(min(step_s, left))
            left -= step_s
            self.settle()

    def wait_for(self, condition: Callable[[], object], timeout_s: float = 10.0) -> None:
        """Until `condition()` is true. TimeoutError. With clock="tick" the clock runs on meanwhile."""
        deadline = time.monotonic() + timeout_s
        while not condition():
            if time.monotonic() > deadline:
                raise TimeoutError(f"The condition did not become true in {timeout_s} s.")
            if self._tick is not None:
                self.advance(1.0)
            else:
                time.sleep(0.01)

    # Capacity

    def hold_hosts(self, which: int | PodTest = 1) -> None:
        """Keep TPU hosts away until `release`: their pods stay Pending for lack of google.com/tpu.

        A number holds that many hosts of every slice, the last ones; a test picks pods by itself. Pods that
        have their host already keep it.
        """
        if callable(which):
            self.world.capacity.hold(which)
            return
        count = which

        def is_last(pod: Object) -> bool:
            labels = pod["metadata"].get("labels") or {}
            return int(labels.get(HOST_INDEX, "0")) >= _hosts_per_slice(pod) - count

        self.world.capacity.hold(is_last)

    def hold_host_index(self, *indexes: int) -> None:
        """Hold the hosts of these indexes in every slice."""
        wanted = {str(index) for index in indexes}
        self.hold_hosts(
            lambda pod: (pod["metadata"].get("labels") or {}).get(HOST_INDEX, "0") in wanted
        )

    def release(self) -> None:
        self.world.capacity.release()
        self.world.look_again()

    # Jobs and pods

    def set_job(
        self,
        status: str | None = None,
        *,
        name: str | None = None,
        message: str | None = None,
        log: str | None = None,
    ) -> None:
        """Tell Ray's own record of simulated jobs: a status, a message, more log. `name` None means every job there is.

        LookupError when no running head knows such a job (yet).
        """
        told = 0
        for ray in self._heads():
            for job_id in ray.ids() if name is None else [name]:
                told += ray.tell(job_id, status, message, log)
        if not told:
            raise LookupError(f"No simulated Ray has a job {name or '(any)'} yet; settle first.")

    def write_log(self, text: str, *, name: str | None = None) -> None:
        self.set_job(name=name, log=text)

    def job_ids(self) -> list[str]:
        """Submission ids of all jobs that simulated heads know."""
        return [job_id for ray in self._heads() for job_id in ray.ids()]

    def fail_pod(
        self, name: str, *, namespace: str | None = None, exit_code: int = 1, message: str = ""
    ) -> None:
        """Let the containers of a simulated pod end, as a crash or a lost host would. LookupError."""
        if self.world.sim is None:
            raise RuntimeError("Only simulated pods can be told to fail.")
        for pod in self.store.list(PODS, namespace)[0]:
            is_it = pod["metadata"]["name"] == name
            if is_it and self.world.sim.fail(pod["metadata"]["uid"], exit_code, message):
                return
        raise LookupError(f"No running pod {name}.")

    # The API's own trouble

    def pause_api(self) -> None:
        """Requests hang until `resume_api`."""
        self._server.faults.pause()

    def resume_api(self) -> None:
        self._server.faults.resume()

    def refuse(
        self,
        verb: str,
        plural: str,
        status: int,
        message: str,
        *,
        reason: str = "InternalError",
        times: int | None = None,
    ) -> None:
        """Answer `status` to these requests, `times` times or until `allow`. "*" is any verb or plural."""
        self._server.faults.refuse(verb, plural, status, message, reason=reason, times=times)

    def allow(self) -> None:
        self._server.faults.clear()

    # Reading

    def pods(self, namespace: str | None = None) -> list[Object]:
        return self.store.list(PODS, namespace)[0]

    def rayjob(self, namespace: str, name: str) -> Object | None:
        try:
            return self.store.get(RAYJOBS, namespace, name)
        except NotFound:
            return None

    def _heads(self) -> list[SimRay]:
        if self.world.sim is None:
            raise RuntimeError("Only simulated jobs can be told what to do.")
        return self.world.sim.heads()

    def set_job_runs(self, seconds: float | None) -> None:
        """How long jobs of heads that start from now on run by themselves."""
        if self.world.sim is not None:
            self.world.sim.set_script(replace(self.world.config.script, run_s=seconds))


def _hosts_per_slice(pod: Object) -> int:
    try:
        return need_of(pod).hosts if tpu_chips(pod) else 1
    except NotProvidable:
        return 1
