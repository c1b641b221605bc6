"""Train a small network with JAX, SPMD over every chip of a TPU slice.

One process per host, one JAX device per chip: `JaxTrainer` reserves a whole slice, and the loop below runs on each host
at once with the batch split over all devices. It fails if its hosts are not all of one slice.
"""

import os
import time

# Ray folds lines that are alike; here each rank is to be seen. Ray reads this when it is imported.
os.environ.setdefault("RAY_DEDUP_LOGS", "0")

import jax
import jax.numpy as jnp
import ray
from jax.experimental import multihost_utils
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from ray import train
from ray.train import ScalingConfig
from ray.train.v2.jax import JaxTrainer

STEPS = int(os.environ.get("STEPS", "60"))
BATCH = 512
FEATURES, HIDDEN = 32, 64


def make_batch(key):
    """Points of a smooth function that the network has to learn."""
    x = jax.random.normal(key, (BATCH, FEATURES))
    y = jnp.sin(x[:, 0]) + 0.5 * jnp.tanh(x[:, 1] * x[:, 2])
    return x, y[:, None]


def forward(params, x):
    hidden = jnp.tanh(x @ params["w1"] + params["b1"])
    return hidden @ params["w2"] + params["b2"]


def loss_of(params, x, y):
    return jnp.mean((forward(params, x) - y) ** 2)


def train_loop(config):
    rank = jax.process_index()
    print(
        f"rank {rank} of {jax.process_count()}: worker {os.environ['TPU_WORKER_ID']} "
        f"of slice {os.environ['TPU_NAME']}, {jax.local_device_count()} of {jax.device_count()} devices",
        flush=True,
    )
    multihost_utils.sync_global_devices("all ranks are up")

    mesh = Mesh(jax.devices(), ("batch",))
    split = NamedSharding(mesh, PartitionSpec("batch"))
    whole = NamedSharding(mesh, PartitionSpec())

    keys = jax.random.split(jax.random.key(0), 3)
    params = {
        "w1": jax.random.normal(keys[0], (FEATURES, HIDDEN)) / FEATURES**0.5,
        "b1": jnp.zeros(HIDDEN),
        "w2": jax.random.normal(keys[1], (HIDDEN, 1)) / HIDDEN**0.5,
        "b2": jnp.zeros(1),
    }
    params = jax.jit(lambda p: p, out_shardings=whole)(params)

    @jax.jit
    def step(params, key):
        x, y = make_batch(key)
        x = jax.lax.with_sharding_constraint(x, split)
        loss, grads = jax.value_and_grad(loss_of)(params, x, y)
        return jax.tree.map(lambda p, g: p - 0.05 * g, params, grads), loss

    first = None
    began = time.time()
    for number in range(1, config["steps"] + 1):
        params, loss = step(params, jax.random.fold_in(keys[2], number))
        first = float(loss) if first is None else first
        if rank == 0 and (number == 1 or number % 10 == 0):
            print(
                f"step {number:3d}  loss {float(loss):.4f}  {time.time() - began:.1f} s", flush=True
            )
    train.report(
        {
            "rank": rank,
            "slice": os.environ["TPU_NAME"],
            "first_loss": first,
            "last_loss": float(loss),
        }
    )
    if not float(loss) < first:
        raise RuntimeError(f"The loss did not fall: {first} to {float(loss)}.")


def slices_of_tpu_nodes():
    """Which hosts Ray sees, by slice."""
    slices = {}
    for node in ray.nodes():
        name = node["Labels"].get("ray.io/tpu-slice-name")
        if node["Alive"] and name:
            slices.setdefault(name, []).append(int(node["Labels"]["ray.io/tpu-worker-id"]))
    return {name: sorted(hosts) for name, hosts in sorted(slices.items())}


@ray.remote(num_cpus=0)
class Roll:
    """Each rank signs in with the slice that it runs on."""

    def __init__(self):
        self.slices = {}

    def sign(self, rank, slice_name, devices):
        self.slices[rank] = (slice_name, devices)

    def read(self):
        return self.slices


def main():
    ray.init()
    topology = os.environ["SLIPWAY_TOPOLOGY"]
    hosts = int(os.environ["SLIPWAY_HOSTS_PER_SLICE"])
    chips = int(os.environ["SLIPWAY_CHIPS_PER_HOST"])
    print(
        f"slice {os.environ['SLIPWAY_GENERATION']} {topology}: {hosts} hosts with {chips} chips each"
    )
    print(f"Ray sees these slices and workers: {slices_of_tpu_nodes()}")

    roll = Roll.remote()

    def loop(config):
        ray.get(
            roll.sign.remote(jax.process_index(), os.environ["TPU_NAME"], jax.local_device_count())
        )
        train_loop(config)

    result = JaxTrainer(
        loop,
        train_loop_config={"steps": STEPS},
        scaling_config=ScalingConfig(
            use_tpu=True,
            num_workers=hosts,
            topology=topology,
            accelerator_type=os.environ["SLIPWAY_ACCELERATOR_TYPE"],
            resources_per_worker={"TPU": chips},
        ),
    ).fit()
    if result.error:
        raise result.error

    signed = ray.get(roll.read.remote())
    names = {name for name, _ in signed.values()}
    print(f"ranks {sorted(signed)} ran on {sorted(names)}")
    if len(names) != 1:
        raise RuntimeError(f"The ranks landed on {len(names)} slices: {signed}.")
    devices = sum(count for _, count in signed.values())
    print(f"{len(signed)} processes, {devices} devices, 1 slice: done", flush=True)


if __name__ == "__main__":
    main()
