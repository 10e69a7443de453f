#!/usr/bin/python3
"""Training step times of Stepscope against tuned PyTorch, in interleaved rounds, as a Markdown table.

Each round measures every model with Stepscope and right after it with each PyTorch variant ({NCHW, channels last} x
{Adam, Adam foreach}); PyTorch's figure of a round is its best variant's. The ratio is taken per round, and the table
shows the median of the rounds, so that a slow minute of the machine hits both sides alike.

Stepscope's side is the program bench_train_step, run as
  bench_train_step --model FILE --batch N --seconds S --json
and answering one JSON object with median_ns, min_ns, floor_ns (the model's primitives, loss and optimiser timed one by
one), page_faults, allocations (both in the warm steps) and reference_primitives.
"""
import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

# name of torch_steps.py, file in resources/models, batch, highest ratio to PyTorch allowed
MODELS = [
    ("mlp", "mlp.jl", 64, 0.40),
    ("lenet", "fashion-lenet.jl", 64, 0.40),
    ("cnn", "cnn.jl", 64, 0.40),
    ("vgg", "vgg.jl", 32, 0.75),
    ("resnet20", "resnet20.jl", 32, 0.65),
]
FLOOR_LIMIT = 1.20  # best step over the floor


class TorchServer:
    def __init__(self, threads, seconds):
        self.threads, self.seconds = threads, seconds
        self.process = subprocess.Popen(
            ["/usr/bin/python3", os.path.join(ROOT, "tests/bench/torch_steps.py")],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def measure(self, model, batch, layout, foreach):
        request = {"model": model, "batch": batch, "layout": layout, "foreach": foreach, "threads": self.threads,
                   "seconds": self.seconds}
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            sys.exit("train_step: the PyTorch process ended; is python3-torch installed? (./dev bench train_step installs it)")
        answer = json.loads(line)
        if "error" in answer:
            sys.exit(f"train_step: PyTorch: {answer['error']}")
        answer["variant"] = layout + (", foreach" if foreach else "")
        return answer

    def best(self, model, batch):
        layouts = ["nchw"] if model == "mlp" else ["nchw", "channels_last"]
        return min((self.measure(model, batch, layout, foreach) for layout in layouts for foreach in (False, True)),
                   key=lambda answer: answer["median_ns"])

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def measure_ours(program, file, batch, threads, seconds):
    command = [program, "--model", file, "--batch", str(batch), "--seconds", str(seconds), "--json"]
    if threads:
        command += ["--threads", str(threads)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"train_step: {' '.join(command)} ended with {done.returncode}")
    return json.loads(done.stdout)


def microseconds(ns):
    return f"{ns / 1000:.0f}"


def row(name, batch, limit, rounds):
    """One line of the table, and whether every target is met. rounds: [(ours, torch or None), ...]"""
    middle = lambda values: statistics.median(values)  # noqa: E731
    ours = [r[0] for r in rounds]
    ours_min = min(o["min_ns"] for o in ours)
    floors = [o["floor_ns"] for o in ours if o.get("floor_ns")]
    cells = [name, str(batch), f"{microseconds(middle([o['median_ns'] for o in ours]))} / {microseconds(ours_min)}"]
    met = True
    torch = [r[1] for r in rounds]
    if all(torch):
        ratio = middle([o["median_ns"] / t["median_ns"] for o, t in rounds])
        met = met and ratio <= limit
        variants = [t["variant"] for t in torch]
        cells += [f"{microseconds(middle([t['median_ns'] for t in torch]))} / {microseconds(min(t['min_ns'] for t in torch))}",
                  max(set(variants), key=variants.count), f"{ratio:.2f}", f"{limit:.2f}"]
    else:
        cells += ["", "", "", f"{limit:.2f}"]
    if floors:
        over = middle([o["min_ns"] / o["floor_ns"] for o in ours])
        met = met and over <= FLOOR_LIMIT
        cells += [microseconds(middle(floors)), f"{over:.2f}"]
    else:
        cells += ["", ""]
    for key in ("page_faults", "allocations", "reference_primitives"):
        worst = max(o.get(key, 0) for o in ours)
        met = met and worst == 0
        cells.append(str(worst))
    return "| " + " | ".join(cells) + " |", met


def processor():
    with open("/proc/cpuinfo", encoding="utf-8") as lines:
        for line in lines:
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.machine()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--program", default=os.path.join(ROOT, "build/release/bin/bench_train_step"))
    parser.add_argument("--models", default=",".join(m[0] for m in MODELS), help="comma-separated; default all five")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=1.5, help="per measurement")
    parser.add_argument("--threads", type=int, 
                        help="on both sides; default: Stepscope chooses per primitive, PyTorch uses all processors")
    parser.add_argument("--no-torch", action="store_true", help="only the ratio to the floor")
    parser.add_argument("--json", metavar="FILE", help="also write every measurement")
    parser.add_argument("--check", action="store_true", help="end with 1 when a target is missed")
    arguments = parser.parse_args()

    wanted = arguments.models.split(",")
    unknown = set(wanted) - {m[0] for m in MODELS}
    if unknown:
        parser.error(f"no model {', '.join(sorted(unknown))}; known: {', '.join(m[0] for m in MODELS)}")
    models = [m for m in MODELS if m[0] in wanted]
    server = None if arguments.no_torch else TorchServer(arguments.threads or os.cpu_count(), arguments.seconds)
    results = {m[0]: [] for m in models}
    for number in range(arguments.rounds):
        for name, file, batch, _ in models:
            path = os.path.join(ROOT, "resources/models", file)
            ours = measure_ours(arguments.program, path, batch, arguments.threads, arguments.seconds)
            torch = server.best(name, batch) if server else None
            results[name].append((ours, torch))
            print(f"round {number + 1} of {arguments.rounds}: {name} {microseconds(ours['median_ns'])} us"
                  + (f", PyTorch {microseconds(torch['median_ns'])} us ({torch['variant']})" if torch else ""),
                  file=sys.stderr, flush=True)
    if server:
        server.close()

    version = next((t["torch"] for rounds in results.values() for _, t in rounds if t), "not measured")
    print(f"{processor()}, {arguments.threads or os.cpu_count()} threads, {arguments.rounds} interleaved rounds of {arguments.seconds} s, "
          f"PyTorch {version}, {time.strftime('%Y-%m-%d')}. Times in µs per step, median / min.\n")
    print("| model | batch | Stepscope | PyTorch | its best variant | ratio | target | floor | best / floor | page faults "
          "| allocations | ref |")
    print("|---|---|---|---|---|---|---|---|---|---|---|---|")
    all_met = True
    for name, _, batch, limit in models:
        line, met = row(name, batch, limit, results[name])
        all_met = all_met and met
        print(line)
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as out:
            json.dump(results, out, indent=1)
    sys.exit(1 if arguments.check and not all_met else 0)


if __name__ == "__main__":
    main()
