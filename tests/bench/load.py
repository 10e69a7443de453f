#!/usr/bin/env python3
"""Loading a Kineto trace: the table of RESULTS.md, in one command.

  tests/bench/load.py TRACE.json[.gz] [--program build/release/bin/bench_load] [--megabytes 10,105,1000] [--runs 5]

Grows a real trace to each size (grow_trace.py), packs it with gzip, and measures: the bare parser on the same file (the
floor), Stepscope, Stepscope from the packed file, the time to its first picture, and as peers Python's json.load and jq
where it is installed. Every row is the fastest of the runs, which alternate; every program has a process of its own.
Peers that need minutes (beyond 200 MB) are left out unless --all-peers is given.
"""
import argparse
import gzip
import os
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))


def peers(path):
    found = {'python json.load': [sys.executable, '-c', 'import json,sys\nwith open(sys.argv[1]) as f: json.load(f)', path]}
    if shutil.which('jq'):
        found['jq'] = ['jq', '.traceEvents | length', path]
    return found


def run(command):
    begin = time.monotonic()
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        sys.exit(f'{command[0]} failed: {child.returncode}')
    return time.monotonic() - begin, usage.ru_utime + usage.ru_stime, usage.ru_maxrss


def grow(source, target, megabytes):
    opened = gzip.open if source.endswith('.gz') else open
    with opened(source, 'rb') as file:
        whole = sum(len(block) for block in iter(lambda: file.read(1 << 20), b''))
    copies = megabytes * 1e6 / whole
    copies = str(round(copies)) if copies >= 1.5 else f'{min(copies, 1):.3f}'
    subprocess.run([sys.executable, os.path.join(HERE, 'grow_trace.py'), source, target, copies], check=True,
                   stdout=subprocess.DEVNULL)


def measure(options, megabytes, folder):
    path = os.path.join(folder, f'{megabytes}.json')
    grow(options.trace, path, megabytes)
    with open(path, 'rb') as plain, gzip.open(path + '.gz', 'wb', compresslevel=6) as packed:
        shutil.copyfileobj(plain, packed, 1 << 20)
    for name in (path, path + '.gz'):  # into the page cache
        with open(name, 'rb') as file:
            while file.read(1 << 20):
                pass
    table = subprocess.run([options.program, path, str(options.runs), path + '.gz'], check=True, capture_output=True, text=True).stdout
    rows = [line for line in table.splitlines() if line.startswith('|')]
    cells = [cell.strip() for cell in rows[2].split('|')]
    floor, spans = float(cells[3]), int(cells[6])
    print(f'\n{os.path.getsize(path) / 1e6:.0f} MB, {os.path.getsize(path + ".gz") / 1e6:.0f} MB packed:\n')
    print('\n'.join(rows))
    if megabytes <= 200 or options.all_peers:
        for name, command in peers(path).items():
            wall, cpu, peak = min((run(command) for _ in range(min(options.runs, 2))), key=lambda r: r[1])
            print(f'| {name:<22} | {wall:8.3f} | {cpu:8.3f} | {cpu / floor:7.2f} | {peak / 1024:8.1f} | {spans:10} | {peak * 1024 / spans:8.1f} |')
    print('\n' + '\n'.join(line for line in table.splitlines() if line.startswith('span columns')), flush=True)
    os.remove(path)
    os.remove(path + '.gz')


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('trace')
    parser.add_argument('--program', default='build/release/bin/bench_load')
    parser.add_argument('--megabytes', default='10,105,1000')
    parser.add_argument('--runs', type=int, default=5)
    parser.add_argument('--all-peers', action='store_true')
    parser.add_argument('--scratch', help='folder for the grown traces, of about 1.2 times the largest size')
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.scratch) as folder:
        for megabytes in options.megabytes.split(','):
            measure(options, int(megabytes), folder)


main()
