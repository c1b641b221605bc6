"""Print what Ray sees of the slice, host by host, and run one task on each host."""

import os
import socket

import ray


@ray.remote(num_cpus=0)
def look():
    return {
        "host": socket.gethostname(),
        "slice": os.environ.get("TPU_NAME"),
        "worker": os.environ.get("TPU_WORKER_ID"),
        "topology": os.environ.get("TPU_TOPOLOGY"),
        "chips": os.environ.get("TPU_VISIBLE_CHIPS"),
    }


def main():
    ray.init()
    hosts = [node for node in ray.nodes() if node["Alive"] and node["Resources"].get("TPU")]
    hosts.sort(key=lambda node: node["Labels"].get("ray.io/tpu-worker-id", ""))
    chips = int(os.environ["SLIPWAY_CHIPS_PER_HOST"])
    asked = [
        look.options(
            resources={"TPU": chips}, label_selector={"ray.io/node-id": node["NodeID"]}
        ).remote()
        for node in hosts
    ]
    for node, seen in zip(hosts, ray.get(asked), strict=True):
        labels = node["Labels"]
        print(
            f"worker {seen['worker']} of {seen['slice']}: {node['NodeManagerAddress']}, "
            f"pod type {labels.get('ray.io/tpu-pod-type')}, topology {seen['topology']}, "
            f"chips {seen['chips']}"
        )
    wanted = int(os.environ["SLIPWAY_HOSTS_PER_SLICE"]) * int(os.environ["SLIPWAY_SLICES"])
    if len(hosts) != wanted:
        raise RuntimeError(f"Expected {wanted} TPU hosts, saw {len(hosts)}.")
    print(f"{len(hosts)} hosts: done")


if __name__ == "__main__":
    main()
