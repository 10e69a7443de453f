#!/usr/bin/python3
"""Step times of tuned PyTorch for the models that Stepscope is compared on.

A server: reads one JSON request per line from standard input, trains for about `seconds`, answers with one JSON line.

  {"model": "lenet", "batch": 64, "layout": "nchw", "foreach": false, "threads": 2, "seconds": 1.5}
  {"model": "lenet", ..., "median_ns": 2263000, "min_ns": 2100000, "steps": 612, "torch": "1.13.0a0"}

A step is zero_grad, forward, cross-entropy, backward, Adam, on one batch that stays in memory, so that no data loading
is timed. A model keeps training from request to request; only the first one builds it and warms it up.

Settings that PyTorch needs to be measured at its best (without them it is two to ten times slower on some models):
the environment below, denormals flushed, and the caller trying both layouts and both Adam variants.
"""
import json
import os
import sys
import time

# glibc hands big tensors back to the system each step unless told otherwise; in a virtual machine the page faults that
# follow cost more than the arithmetic. OpenBLAS with OpenMP shares PyTorch's threads, the other variants fight them.
ENVIRONMENT = {
    "MALLOC_MMAP_THRESHOLD_": "4000000000",
    "MALLOC_TRIM_THRESHOLD_": "8000000000",
    "MALLOC_TOP_PAD_": str(256 << 20),
}
UNSET = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE", "OMP_WAIT_POLICY", "KMP_BLOCKTIME")


def openblas_directory():
    for machine in ("x86_64", "aarch64"):
        path = f"/usr/lib/{machine}-linux-gnu/openblas-openmp"
        if os.path.isdir(path):
            return path
    return None


def restart_with_settings():
    """The dynamic linker and malloc read the environment once, so the settings need a new start of the program."""
    wanted = dict(ENVIRONMENT)
    blas = openblas_directory()
    if blas:
        wanted["LD_LIBRARY_PATH"] = blas
    if all(os.environ.get(name) == value for name, value in wanted.items()) and not any(n in os.environ for n in UNSET):
        return
    environment = {name: value for name, value in os.environ.items() if name not in UNSET}
    environment.update(wanted)
    os.execve(sys.executable, [sys.executable, *sys.argv], environment)


if __name__ == "__main__":
    restart_with_settings()

import torch  # noqa: E402
import torch.nn as nn  # noqa: E402
import torch.nn.functional as F  # noqa: E402


class BasicBlock(nn.Module):
    """Residual block; the shortcut is a 1x1 convolution with batch norm where the shape changes."""

    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU(inplace=True),
            nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False), nn.BatchNorm2d(outputs))
        self.shortcut = None
        if inputs != outputs:
            self.shortcut = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, 0, bias=False), nn.BatchNorm2d(outputs))

    def forward(self, x):
        return F.relu(self.body(x) + (x if self.shortcut is None else self.shortcut(x)), inplace=True)


def mlp():
    return nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 256), nn.ReLU(), nn.Linear(256, 10)), (784,)


def lenet():
    return nn.Sequential(
        nn.Conv2d(1, 6, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
        nn.Linear(256, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10)), (1, 28, 28)


def cnn():
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(),
        nn.MaxPool2d(2), nn.Flatten(), nn.Linear(1568, 128), nn.ReLU(), nn.Linear(128, 10)), (1, 28, 28)


def vgg():
    layers, inputs = [], 3
    for outputs in (32, 64, 128):
        for _ in range(2):
            layers += [nn.Conv2d(inputs, outputs, 3, padding=1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU(inplace=True)]
            inputs = outputs
        layers.append(nn.MaxPool2d(2))
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(2048, 256), nn.ReLU(), nn.Linear(256, 10)), (3, 32, 32)


def resnet20():
    layers, inputs = [nn.Conv2d(3, 16, 3, 1, 1, bias=False), nn.BatchNorm2d(16), nn.ReLU(inplace=True)], 16
    for stage in range(3):
        outputs = 16 << stage
        for block in range(3):
            layers.append(BasicBlock(inputs, outputs, 2 if stage > 0 and block == 0 else 1))
            inputs = outputs
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10)), (3, 32, 32)


MODELS = {"mlp": mlp, "lenet": lenet, "cnn": cnn, "vgg": vgg, "resnet20": resnet20}


class Training:
    def __init__(self, request):
        torch.manual_seed(0)
        model, shape = MODELS[request["model"]]()
        batch = request["batch"]
        self.x = torch.randn(batch, *shape)
        self.y = torch.randint(0, 10, (batch,))
        if request["layout"] == "channels_last" and len(shape) == 3:
            model = model.to(memory_format=torch.channels_last)
            self.x = self.x.to(memory_format=torch.channels_last)
        self.model = model
        self.optimiser = torch.optim.Adam(model.parameters(), 1e-3, foreach=request["foreach"])
        for _ in range(10):
            self.step()

    def step(self):
        self.optimiser.zero_grad(set_to_none=True)
        loss = F.cross_entropy(self.model(self.x), self.y)
        loss.backward()
        self.optimiser.step()

    def measure(self, seconds):
        times = []
        end = time.perf_counter_ns() + int(seconds * 1e9)
        while len(times) < 15 or time.perf_counter_ns() < end:
            start = time.perf_counter_ns()
            self.step()
            times.append(time.perf_counter_ns() - start)
        times.sort()
        return {"median_ns": times[len(times) // 2], "min_ns": times[0], "steps": len(times)}


def main():
    torch.set_flush_denormal(True)
    trainings = {}
    for line in sys.stdin:
        if not line.strip():
            continue
        try:
            request = json.loads(line)
            key = json.dumps([request[name] for name in ("model", "batch", "layout", "foreach", "threads")])
            torch.set_num_threads(request["threads"])
            if key not in trainings:
                trainings[key] = Training(request)
            answer = {**request, **trainings[key].measure(request.get("seconds", 1.5)), "torch": torch.__version__}
        except (KeyError, ValueError, RuntimeError) as error:
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
