"""For every rule of `slipway.class_rules` a class that breaks it and one like it that does not.

`EXAMPLES` maps a rule's id to its example. `failing` and `passing` are whole specs; `path` is where the finding
stands. `old` is the live spec that both would replace, where the rule needs one. The passing class breaks no rule that
refuses: GKE would take it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

Fields = dict[str, Any]


@dataclass(frozen=True)
class Example:
    failing: Fields
    passing: Fields
    path: str
    old: Fields | None = None
    name: str = "tpu-class"
    passing_name: str = "tpu-class"


def spec(*priorities: Any, **more: Any) -> Fields:
    return {
        "priorities": list(priorities),
        "nodePoolAutoCreation": {"enabled": True},
        "whenUnsatisfiable": "DoNotScaleUp",
        **more,
    }


def tpu(kind: str, count: int, topology: str, **more: Any) -> Fields:
    return {"tpu": {"type": kind, "count": count, "topology": topology}, **more}


def v6e(**more: Any) -> Fields:
    """A slice of four hosts that says how long it is waited for."""
    return tpu(
        "tpu-v6e-slice",
        4,
        "4x4",
        **({} if _is_flex(more) else {"capacityCheckWaitTimeSeconds": 900}) | more,
    )


def _is_flex(more: Fields) -> bool:
    return "flexStart" in more


N2, SPOT, FLEX = {"machineFamily": "n2"}, {"spot": True}, {"flexStart": {"enabled": True}}
ONE_HOST = tpu("tpu-v6e-slice", 4, "2x2")
FIRST = "priorities[0]"


def zones(*names: str) -> Fields:
    return {"location": {"zones": list(names)}}


def specific(*names: str) -> Fields:
    entries = [{"name": name} for name in names]
    return {"reservations": {"affinity": "Specific", "specific": entries}}


def affinity(kind: str) -> Fields:
    return {"reservations": {"affinity": kind}}


def pools(**config: Any) -> Fields:
    return {"nodePoolConfig": config}


def kubelet(**config: Any) -> Fields:
    return {"nodeSystemConfig": {"kubeletConfig": config}}


def linux(**config: Any) -> Fields:
    return {"nodeSystemConfig": {"linuxNodeConfig": config}}


def drain(**config: Any) -> Fields:
    return pools(nodeDrainConfig=config)


def confidential(kind: str, *priorities: Fields, **more: Any) -> Fields:
    return spec(*priorities, **pools(confidentialNodeType=kind), **more)


AUTOPILOT: Fields = {"autopilot": {"enabled": True}}
NO_AUTOPILOT: Fields = {"autopilot": {"enabled": False}}
CONGESTION = linux(sysctls={"net.ipv4.tcp_congestion_control": "bbr"})

NAMES = {
    "name-syntax": Example(spec(v6e()), spec(v6e()), "", name="TPU_class"),
    "name-prefix": Example(spec(v6e()), spec(v6e()), "", name="gke-tpus"),
    "name-default": Example(spec(v6e()), spec(v6e()), "", name="default"),
}

STRUCTURE = {
    "wrong-type": Example(spec(v6e(spot="yes")), spec(v6e(spot=True)), f"{FIRST}.spot"),
    "missing-field": Example(
        spec(v6e(flexStart={"enabled": True, "nodeRecycling": {}})),
        spec(v6e(flexStart={"enabled": True, "nodeRecycling": {"leadTimeSeconds": 3600}})),
        f"{FIRST}.flexStart.nodeRecycling.leadTimeSeconds",
    ),
    "no-choice": Example(spec(v6e(), whenUnsatisfiable="GiveUp"), spec(v6e()), "whenUnsatisfiable"),
    "out-of-range": Example(
        spec(v6e(capacityCheckWaitTimeSeconds=86401)),
        spec(v6e(capacityCheckWaitTimeSeconds=86400)),
        f"{FIRST}.capacityCheckWaitTimeSeconds",
    ),
    "wrong-length": Example(spec(*[N2] * 1001), spec(*[N2] * 1000), "priorities"),
    "wrong-form": Example(
        spec(N2, **drain(pdbTimeoutDuration="1h30m")),
        spec(N2, **drain(pdbTimeoutDuration="5400s")),
        "nodePoolConfig.nodeDrainConfig.pdbTimeoutDuration",
    ),
    "unknown-field": Example(
        spec(v6e(maxRunDuration=600)),
        spec(v6e(maxRunDurationSeconds=600)),
        f"{FIRST}.maxRunDuration",
    ),
}

ORDER = {
    "score-all-or-none": Example(
        spec(v6e(priorityScore=2), N2),
        spec(v6e(priorityScore=2), N2 | {"priorityScore": 1}),
        "priorities[1].priorityScore",
    ),
    "minimum-nodes": Example(
        spec(N2, minimumCapacity={"targetNodeCount": 2}),
        spec(v6e(), minimumCapacity={"targetNodeCount": 2}),
        FIRST,
    ),
    "rule-minimum-nodes": Example(
        spec(N2 | {"minimumCapacity": {"targetNodeCount": 2}}),
        spec({"machineType": "n2-standard-4", "minimumCapacity": {"targetNodeCount": 2}}),
        f"{FIRST}.minimumCapacity.targetNodeCount",
    ),
    "score-shared": Example(
        spec(*[N2 | {"priorityScore": 5}] * 4),
        spec(*[N2 | {"priorityScore": 5}] * 3),
        "priorities[3].priorityScore",
    ),
    "many-rules": Example(spec(*[N2] * 11), spec(*[N2] * 10), "priorities"),
    "no-rules": Example(spec(), spec(v6e()), "priorities"),
    "scale-up-anyway": Example(
        spec(v6e(), whenUnsatisfiable="ScaleUpAnyway"), spec(v6e()), "whenUnsatisfiable"
    ),
    "auto-creation-off": Example(
        spec(v6e(), nodePoolAutoCreation={"enabled": False}),
        spec(v6e()),
        "nodePoolAutoCreation.enabled",
    ),
}

CAPACITY = {
    "flex-spot": Example(spec(v6e(**FLEX, **SPOT)), spec(v6e(**FLEX, spot=False)), f"{FIRST}.spot"),
    "wait-unsupported": Example(
        spec(N2 | {"capacityCheckWaitTimeSeconds": 600}),
        spec(N2 | FLEX | {"capacityCheckWaitTimeSeconds": 600}),
        f"{FIRST}.capacityCheckWaitTimeSeconds",
    ),
    "wait-single-host": Example(
        spec(ONE_HOST | {"capacityCheckWaitTimeSeconds": 600}),
        spec(ONE_HOST | FLEX | {"capacityCheckWaitTimeSeconds": 600}),
        f"{FIRST}.capacityCheckWaitTimeSeconds",
    ),
    "run-time": Example(
        spec(v6e(maxRunDurationSeconds=29)),
        spec(v6e(maxRunDurationSeconds=120 * 86400)),
        f"{FIRST}.maxRunDurationSeconds",
    ),
    "flex-run-time": Example(
        spec(v6e(**FLEX, maxRunDurationSeconds=604801)),
        spec(v6e(**FLEX, maxRunDurationSeconds=600)),
        f"{FIRST}.maxRunDurationSeconds",
    ),
    "flex-generation": Example(
        spec(tpu("tpu-v4-podslice", 4, "2x2x2", **FLEX)),
        spec(tpu("tpu-v4-podslice", 4, "2x2x2")),
        f"{FIRST}.flexStart",
    ),
    "flex-zones": Example(
        spec(v6e(**FLEX, **zones("us-west4-a"))),
        spec(v6e(**FLEX, **zones("us-east5-b"))),
        f"{FIRST}.location.zones",
    ),
    "wait-default": Example(
        spec(tpu("tpu-v6e-slice", 4, "4x4"), v6e(**SPOT)),
        spec(v6e(), tpu("tpu-v6e-slice", 4, "4x4", **SPOT)),
        f"{FIRST}.capacityCheckWaitTimeSeconds",
    ),
    "recycling-lead": Example(
        spec(
            v6e(
                flexStart={"enabled": True, "nodeRecycling": {"leadTimeSeconds": 3600}},
                maxRunDurationSeconds=3600,
            )
        ),
        spec(
            v6e(
                flexStart={"enabled": True, "nodeRecycling": {"leadTimeSeconds": 3600}},
                maxRunDurationSeconds=86400,
            )
        ),
        f"{FIRST}.flexStart.nodeRecycling.leadTimeSeconds",
    ),
    "flex-generation-unknown": Example(
        spec(tpu("tpu7x", 4, "2x2x1", **FLEX)),
        spec(tpu("tpu-v5p-slice", 4, "2x2x1", **FLEX)),
        f"{FIRST}.flexStart",
    ),
    "flex-zones-in-vain": Example(
        spec(v6e(**FLEX), priorityDefaults=zones("us-east5-b", "us-west4-a")),
        spec(v6e(**FLEX), priorityDefaults=zones("us-east5-b", "us-east5-a")),
        "priorityDefaults.location.zones",
    ),
}

TPU = {
    "tpu-triplet": Example(
        spec({"tpu": {"type": "tpu-v6e-slice", "topology": "4x4"}}),
        spec(v6e()),
        f"{FIRST}.tpu.count",
    ),
    "tpu-type": Example(spec(tpu("v5p-slice", 4, "2x2x1")), spec(v6e()), f"{FIRST}.tpu.type"),
    "tpu-topology": Example(
        spec(tpu("tpu-v6e-slice", 4, "4x5")),
        spec(tpu("tpu-v6e-slice", 4, "4x8")),
        f"{FIRST}.tpu.topology",
    ),
    "tpu-count": Example(spec(tpu("tpu-v6e-slice", 16, "4x4")), spec(v6e()), f"{FIRST}.tpu.count"),
    "tpu-count-topology": Example(
        spec(tpu("tpu-v6e-slice", 8, "4x4")),
        spec(tpu("tpu-v6e-slice", 8, "2x4")),
        f"{FIRST}.tpu.count",
    ),
    "tpu-machine-type": Example(
        spec(v6e(machineType="ct6e-standard-8t")),
        spec(v6e(machineType="ct6e-standard-4t")),
        f"{FIRST}.machineType",
    ),
    "tpu-type-unknown": Example(
        spec(tpu("tpu9-slice", 4, "2x2x1")), spec(v6e()), f"{FIRST}.tpu.type"
    ),
    "tpu-2x4": Example(
        spec(tpu("tpu-v5-lite-podslice", 4, "2x4")),
        spec(tpu("tpu-v5-lite-podslice", 8, "2x4")),
        f"{FIRST}.tpu.count",
    ),
    "tpu7x-policy": Example(
        spec(tpu("tpu7x", 4, "2x2x2")),
        spec(tpu("tpu7x", 4, "2x2x2", placement={"policyName": "ironwood"})),
        f"{FIRST}.placement.policyName",
    ),
    "tpu-machine-alone": Example(
        spec({"machineType": "ct6e-standard-4t"}),
        spec(v6e(machineType="ct6e-standard-4t")),
        f"{FIRST}.tpu",
    ),
}

RESERVATIONS = {
    "reservation-names": Example(
        spec(v6e(reservations={"affinity": "None", "specific": [{"name": "res-a"}]})),
        spec(v6e(**specific("res-a"))),
        f"{FIRST}.reservations.affinity",
    ),
    "reservation-unnamed": Example(
        spec(v6e(**affinity("Specific"))),
        spec(v6e(**affinity("None"))),
        f"{FIRST}.reservations.specific",
    ),
    "reservation-zones": Example(
        spec(v6e(**specific("res-a")), priorityDefaults=zones("us-east5-b")),
        spec(
            v6e(
                reservations={
                    "affinity": "Specific",
                    "specific": [{"name": "res-a", "zones": ["us-east5-b"]}],
                },
                location={"locationPolicy": "ANY"},
            )
        ),
        "priorityDefaults.location.zones",
    ),
    "spot-reservation": Example(
        spec(v6e(**specific("res-a"), **SPOT)),
        spec(v6e(**affinity("None"), **SPOT)),
        f"{FIRST}.spot",
    ),
    "any-best-effort": Example(
        spec(v6e(**affinity("AnyBestEffort")), v6e(**SPOT)),
        spec(v6e(**SPOT), v6e(**affinity("AnyBestEffort"))),
        f"{FIRST}.reservations.affinity",
    ),
    "any-then-fail": Example(
        spec(v6e(**affinity("AnyThenFail"))),
        spec(v6e(**specific("res-a"))),
        f"{FIRST}.reservations.affinity",
    ),
}

GB200 = {"gpu": {"type": "nvidia-gb200", "topology": "1x72"}}
FAST_DISK = {"bootDiskProvisionedIops": 3000, "bootDiskProvisionedThroughput": 140}
DISK_POOL = "projects/p/zones/us-east5-b/storagePools/pool-a"
MACHINES = {
    "gpu-topology": Example(
        spec(GB200), spec(GB200 | {"placement": {"policyName": "rack"}}), f"{FIRST}.gpu.topology"
    ),
    "node-pools-alone": Example(
        spec({"nodepools": ["pool-a"], "spot": True}),
        spec({"nodepools": ["pool-a"], "priorityScore": 1, "allocationStrategy": "lowest-cost"}),
        FIRST,
    ),
    "machine-family-and-type": Example(
        spec(N2 | {"machineType": "n2-standard-4"}), spec(N2), f"{FIRST}.machineFamily"
    ),
    "machine-type-and-size": Example(
        spec({"machineType": "n2-standard-4", "minCores": 4}),
        spec(N2 | {"minCores": 4}),
        f"{FIRST}.minCores",
    ),
    "machine-family-ek": Example(
        spec({"machineFamily": "ek"}), spec({"machineFamily": "e2"}), f"{FIRST}.machineFamily"
    ),
    "machine-type-ek": Example(
        spec({"machineType": "ek-standard-8"}),
        spec({"machineType": "e2-standard-8"}),
        f"{FIRST}.machineType",
    ),
    "rdma-profile": Example(
        spec({"gpuDirect": "rdma"}),
        spec({"gpuDirect": "rdma", "acceleratorNetworkProfile": "auto"}),
        f"{FIRST}.acceleratorNetworkProfile",
    ),
    "network-profile-form": Example(
        spec({"acceleratorNetworkProfile": "Auto-"}),
        spec({"acceleratorNetworkProfile": "auto"}),
        f"{FIRST}.acceleratorNetworkProfile",
    ),
    "gpu-direct-choice": Example(
        spec({"gpuDirect": "tcpx"}),
        spec({"gpuDirect": "rdma", "acceleratorNetworkProfile": "auto"}),
        f"{FIRST}.gpuDirect",
    ),
    "storage-pools-disk": Example(
        spec(N2 | {"storage": {"bootDiskType": "pd-ssd", "bootDiskStoragePools": [DISK_POOL]}}),
        spec(N2 | {"storage": {"bootDiskStoragePools": [DISK_POOL]}}),
        f"{FIRST}.storage.bootDiskType",
    ),
    "disk-performance": Example(
        spec(N2 | {"storage": FAST_DISK | {"bootDiskType": "pd-ssd"}}),
        spec(N2 | {"storage": FAST_DISK | {"bootDiskType": "hyperdisk-balanced"}}),
        f"{FIRST}.storage",
    ),
}

IMAGE = {"imageName": "image-a", "imageProjectId": "project-a"}
DRAIN = "nodePoolConfig.nodeDrainConfig"
NODES = {
    "workload-type": Example(
        spec(v6e(), **pools(workloadType="HIGH_THROUGHPUT")),
        spec(v6e(), **pools(workloadType="HIGH_THROUGHPUT"), nodePoolGroup={"name": "group-a"}),
        "nodePoolConfig.workloadType",
    ),
    "custom-image-missing": Example(
        spec(N2, **pools(imageType="custom_containerd")),
        spec(N2, **pools(imageType="custom_containerd", customImageConfig=IMAGE)),
        "nodePoolConfig.customImageConfig",
    ),
    "custom-image-unused": Example(
        spec(N2, **pools(customImageConfig=IMAGE)),
        spec(N2, **pools(imageType="custom_containerd", customImageConfig=IMAGE)),
        "nodePoolConfig.customImageConfig",
    ),
    "drain-grace-negative": Example(
        spec(N2, **drain(graceTerminationDuration="-1s")),
        spec(N2, **drain(graceTerminationDuration="0s")),
        f"{DRAIN}.graceTerminationDuration",
    ),
    "drain-grace-long": Example(
        spec(N2, **drain(graceTerminationDuration="86400.5s")),
        spec(N2, **drain(graceTerminationDuration="86400s")),
        f"{DRAIN}.graceTerminationDuration",
    ),
    "drain-budget-negative": Example(
        spec(N2, **drain(pdbTimeoutDuration="-1s")),
        spec(N2, **drain(pdbTimeoutDuration="1.5s")),
        f"{DRAIN}.pdbTimeoutDuration",
    ),
    "drain-budget-long": Example(
        spec(N2, **drain(pdbTimeoutDuration="604801s")),
        spec(N2, **drain(pdbTimeoutDuration="604800s")),
        f"{DRAIN}.pdbTimeoutDuration",
    ),
    "taint-class": Example(
        spec(
            v6e(),
            **pools(taints=[{"key": "cloud.google.com/compute-class", "effect": "NoSchedule"}]),
        ),
        spec(v6e(), **pools(taints=[{"key": "example.com/tpu", "effect": "NoSchedule"}])),
        "nodePoolConfig.taints[0].key",
    ),
    "taint-kubernetes": Example(
        spec(v6e(taints=[{"key": "node.kubernetes.io/tpu", "effect": "NoSchedule"}])),
        spec(v6e(taints=[{"key": "example.com/tpu", "effect": "NoSchedule"}])),
        f"{FIRST}.taints[0].key",
    ),
}


def _system_pair(rule: str, failing: Fields, passing: Fields, path: str) -> dict[str, Example]:
    """One example in a rule of the class, one in the defaults of its rules."""
    place = f"nodeSystemConfig.{path}"
    return {
        rule: Example(spec(N2 | SPOT | failing), spec(N2 | SPOT | passing), f"{FIRST}.{place}"),
        f"default-{rule}": Example(
            spec(N2 | SPOT, priorityDefaults=failing),
            spec(N2 | SPOT, priorityDefaults=passing),
            f"priorityDefaults.{place}",
        ),
    }


BOTH_SIZES, ONE_SIZE = {"swapSizeGib": 8, "swapSizePercent": 10}, {"swapSizeGib": 8}
SWAP = "linuxNodeConfig.swapConfig"
GRACE = "shutdownGracePeriodSeconds"
SYSTEM = {
    "default-shutdown-grace-spot": Example(
        spec(N2, priorityDefaults=kubelet(shutdownGracePeriodSeconds=30)),
        spec(N2 | SPOT, priorityDefaults=kubelet(shutdownGracePeriodSeconds=30)),
        f"priorityDefaults.nodeSystemConfig.kubeletConfig.{GRACE}",
    ),
    "shutdown-grace-spot": Example(
        spec(N2 | kubelet(shutdownGracePeriodSeconds=30)),
        spec(N2 | SPOT | kubelet(shutdownGracePeriodSeconds=30)),
        f"{FIRST}.nodeSystemConfig.kubeletConfig.{GRACE}",
    ),
    **_system_pair(
        "image-gc-order",
        kubelet(imageGcHighThresholdPercent=70, imageGcLowThresholdPercent=70),
        kubelet(imageGcHighThresholdPercent=70, imageGcLowThresholdPercent=60),
        "kubeletConfig.imageGcLowThresholdPercent",
    ),
    **_system_pair(
        "image-gc-high",
        kubelet(imageGcHighThresholdPercent=80),
        kubelet(imageGcHighThresholdPercent=81),
        "kubeletConfig.imageGcHighThresholdPercent",
    ),
    **_system_pair(
        "critical-grace",
        kubelet(shutdownGracePeriodSeconds=30, shutdownGracePeriodCriticalPodsSeconds=31),
        kubelet(shutdownGracePeriodSeconds=30, shutdownGracePeriodCriticalPodsSeconds=30),
        "kubeletConfig.shutdownGracePeriodCriticalPodsSeconds",
    ),
    **_system_pair(
        "log-interval-short",
        kubelet(containerLogMonitorInterval="2.5s"),
        kubelet(containerLogMonitorInterval="3s"),
        "kubeletConfig.containerLogMonitorInterval",
    ),
    **_system_pair(
        "log-interval-long",
        kubelet(containerLogMonitorInterval="301s"),
        kubelet(containerLogMonitorInterval="300s"),
        "kubeletConfig.containerLogMonitorInterval",
    ),
    **_system_pair(
        "swap-profiles",
        linux(
            swapConfig={"bootDiskProfile": ONE_SIZE, "dedicatedLocalSsdProfile": {"diskCount": 1}}
        ),
        linux(swapConfig={"bootDiskProfile": ONE_SIZE}),
        SWAP,
    ),
    **_system_pair(
        "swap-boot-size",
        linux(swapConfig={"bootDiskProfile": BOTH_SIZES}),
        linux(swapConfig={"bootDiskProfile": ONE_SIZE}),
        f"{SWAP}.bootDiskProfile",
    ),
    **_system_pair(
        "swap-ssd-size",
        linux(swapConfig={"ephemeralLocalSsdProfile": BOTH_SIZES}),
        linux(swapConfig={"ephemeralLocalSsdProfile": {"swapSizePercent": 10}}),
        f"{SWAP}.ephemeralLocalSsdProfile",
    ),
}


def _metadata_pair(rule: str, failing: Fields, passing: Fields) -> dict[str, Example]:
    (key,) = failing
    return {
        rule: Example(
            spec(N2, **pools(instanceMetadata=failing)),
            spec(N2, **pools(instanceMetadata=passing)),
            f"nodePoolConfig.instanceMetadata.{key}",
        ),
        f"rule-{rule}": Example(
            spec(N2 | {"instanceMetadata": failing}),
            spec(N2 | {"instanceMetadata": passing}),
            f"{FIRST}.instanceMetadata.{key}",
        ),
    }


METADATA = {
    **_metadata_pair("metadata-key", {"a key": "x"}, {"a_key": "x"}),
    **_metadata_pair("metadata-value", {"long": "x" * 32769}, {"long": "x" * 32768}),
    **_metadata_pair("metadata-reserved", {"startup-script": "x"}, {"my-script": "x"}),
}

MODES = {
    "autopilot-removed": Example(
        spec(v6e()), spec(v6e(), **NO_AUTOPILOT), "autopilot", old=spec(v6e(), **NO_AUTOPILOT)
    ),
    "autopilot-changed": Example(
        spec(v6e(), **AUTOPILOT),
        spec(v6e(), **NO_AUTOPILOT),
        "autopilot",
        old=spec(v6e(), **NO_AUTOPILOT),
    ),
    "autopilot-switched": Example(
        spec(v6e(), **NO_AUTOPILOT),
        spec(v6e(), **AUTOPILOT),
        "autopilot.enabled",
        old=spec(v6e(), **AUTOPILOT),
    ),
    "autopilot-node-pools": Example(
        spec({"nodepools": ["pool-a"]}, **AUTOPILOT),
        spec({"nodepools": ["pool-a"]}),
        f"{FIRST}.nodepools",
    ),
    "autopilot-auto-creation": Example(
        {"priorities": [v6e()], "whenUnsatisfiable": "DoNotScaleUp"} | AUTOPILOT,
        spec(v6e(), **AUTOPILOT),
        "nodePoolAutoCreation.enabled",
    ),
    "autopilot-image": Example(
        spec(N2, **pools(imageType="ubuntu_containerd"), **AUTOPILOT),
        spec(N2, **pools(imageType="cos_containerd"), **AUTOPILOT),
        "nodePoolConfig.imageType",
    ),
    "autopilot-logging": Example(
        spec(
            N2,
            **pools(loggingConfig={"loggingVariantConfig": {"variant": "MAX_THROUGHPUT"}}),
            **AUTOPILOT,
        ),
        spec(
            N2, **pools(loggingConfig={"loggingVariantConfig": {"variant": "DEFAULT"}}), **AUTOPILOT
        ),
        "nodePoolConfig.loggingConfig.loggingVariantConfig.variant",
    ),
    "pod-family": Example(
        spec({"podFamily": "general-purpose"}),
        spec({"podFamily": "general-purpose"}, **AUTOPILOT),
        f"{FIRST}.podFamily",
    ),
    "autopilot-congestion-control": Example(
        spec(N2 | CONGESTION, **AUTOPILOT),
        spec(N2 | CONGESTION),
        f"{FIRST}.nodeSystemConfig.linuxNodeConfig.sysctls.net.ipv4.tcp_congestion_control",
    ),
}

H100, B200 = {"gpu": {"type": "nvidia-h100-80gb"}}, {"gpu": {"type": "nvidia-b200"}}
SOMEWHERE = zones("us-east5-a")
G4, G4_LARGE = {"machineType": "g4-standard-48"}, {"machineType": "g4-standard-96"}
C3, C4 = {"machineType": "c3-standard-4"}, {"machineType": "c4-standard-4"}
A3, A4 = {"machineType": "a3-highgpu-1g"}, {"machineType": "a4-highgpu-8g"}


def _tdx_gpu(machine: Fields, wrong: Fields, right: Fields) -> Example:
    return Example(
        confidential("TDX", machine | wrong | SOMEWHERE),
        confidential("TDX", machine | right | SOMEWHERE),
        FIRST,
    )


CONFIDENTIAL = {
    "confidential-machine": Example(
        confidential("CONFIDENTIAL_INSTANCE_TYPE_UNSPECIFIED", SPOT),
        confidential("CONFIDENTIAL_INSTANCE_TYPE_UNSPECIFIED", SPOT | N2),
        FIRST,
    ),
    "confidential-sev-family": Example(
        confidential("SEV", {"machineType": "n2-standard-4"}),
        confidential("SEV", {"machineType": "n2d-standard-4"}),
        FIRST,
    ),
    "confidential-sev-g4": Example(confidential("SEV", G4_LARGE), confidential("SEV", G4), FIRST),
    "confidential-sev-snp-family": Example(
        confidential("SEV_SNP", {"machineType": "c2d-standard-4"}),
        confidential("SEV_SNP", {"machineType": "n2d-standard-4"}),
        FIRST,
    ),
    "confidential-tdx-family": Example(
        confidential("TDX", {"machineType": "c3-highmem-4"}), confidential("TDX", C3), FIRST
    ),
    "confidential-tdx-c3-gpu": _tdx_gpu(C3, B200, H100),
    "confidential-tdx-c4-gpu": _tdx_gpu(C4, B200, H100),
    "confidential-tdx-a3-gpu": _tdx_gpu(A3, B200, H100),
    "confidential-tdx-a4-gpu": _tdx_gpu(A4, H100, B200),
    "confidential-gpu-zones": Example(
        confidential("TDX", A3 | H100),
        confidential("TDX", A3 | H100, priorityDefaults=SOMEWHERE),
        f"{FIRST}.location.zones",
    ),
}

EXAMPLES: dict[str, Example] = {
    **NAMES,
    **STRUCTURE,
    **ORDER,
    **CAPACITY,
    **TPU,
    **RESERVATIONS,
    **MACHINES,
    **NODES,
    **SYSTEM,
    **METADATA,
    **MODES,
    **CONFIDENTIAL,
}
