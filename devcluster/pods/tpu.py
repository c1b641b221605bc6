"""What GKE's TPU device plugin gives a container, and what stands in for the chips that are not here.

GKE's plugin sets TPU_TOPOLOGY, TPU_ACCELERATOR_TYPE and friends from the node; with the webhook's TPU_NAME
and TPU_WORKER_ID they are all that Ray needs to see a slice. There is no chip on this machine, so JAX is
pointed at as many CPU devices as the host has chips: these two settings replace the manifest's own, which ask
for real TPUs.
"""

from __future__ import annotations

from typing import Any

from devcluster.capacity import NotProvidable, need_of, tpu_chips

Object = dict[str, Any]


def plugin_env(pod: Object) -> dict[str, str]:
    """Environment for a TPU pod's container; empty for pods without TPUs."""
    chips = tpu_chips(pod)
    if not chips:
        return {}
    try:
        need = need_of(pod)
    except NotProvidable:
        return {}
    return {
        "TPU_TOPOLOGY": need.topology,
        "TPU_ACCELERATOR_TYPE": need.accelerator_type,
        "TPU_SKIP_MDS_QUERY": "true",
        "TPU_RUNTIME_METRICS_PORTS": ",".join(str(8431 + chip) for chip in range(chips)),
    }


def emulated_env(pod: Object) -> dict[str, str]:
    """CPU devices in the place of chips. Laid over everything else."""
    chips = tpu_chips(pod)
    if not chips:
        return {}
    return {
        "JAX_PLATFORMS": "cpu",
        "XLA_FLAGS": f"--xla_force_host_platform_device_count={chips}",
    }
