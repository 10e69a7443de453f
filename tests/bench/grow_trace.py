#!/usr/bin/env python3
"""grow_trace.py IN.json[.gz] OUT.json COPIES: repeats the events of a real Kineto trace.

Copy k has its times shifted by k times the length of the trace, and its correlation, external, flow and sequence ids
by k times their range, so that ids stay unique. A number below 1 takes that share of the events, once. The layout of the file stays as it is. Metadata and the events of the
profiler itself are kept once.
"""
import gzip
import re
import sys

ONCE = ('"ph": "M"', '"pid": "Spans"', '"pid": "Traces"', '"pid": ""', '"cat": "Trace"')
HOLE = re.compile(r'"(ts|correlation|External id|external id|id|Ev Idx|Sequence number)": (\d+)')


def main():
    source, target, copies = sys.argv[1], sys.argv[2], float(sys.argv[3])
    opened = gzip.open if source.endswith('.gz') else open
    with opened(source, 'rt', encoding='utf-8') as file:
        text = file.read()
    begin = text.index('"traceEvents": [') + len('"traceEvents": [')
    end = max(text.rfind('\n  ]'), text.rfind('\n]'))
    events = [e.strip().rstrip(',') for e in re.split(r',?\n  (?=\{)', text[begin:end]) if e.strip()]
    once = [e for e in events if any(mark in e for mark in ONCE)]
    repeated = [e for e in events if not any(mark in e for mark in ONCE)]
    if copies < 1:
        repeated = repeated[:max(1, int(len(repeated) * copies))]
    copies = max(1, int(copies))
    body = '\n  ' + ',\n  '.join(repeated)
    times = [int(t) for t in re.findall(r'"ts": (\d+)', body)]
    shift = max(times) - min(times) + 1000
    ids = [int(v) for k, v in HOLE.findall(body) if k != 'ts' and int(v) < 1 << 31]
    step = max(ids, default=0) + 1
    pieces, holes, last = [], [], 0
    for match in HOLE.finditer(body):
        value = int(match.group(2))
        if match.group(1) != 'ts' and value >= 1 << 31:
            continue
        pieces.append(body[last:match.start(2)])
        holes.append((match.group(1) == 'ts', value))
        last = match.end(2)
    rest = body[last:]
    with open(target, 'w', encoding='utf-8') as out:
        out.write(text[:begin])
        out.write('\n  ' + ',\n  '.join(once) + ',' if once else '')
        for k in range(copies):
            parts = []
            for piece, (is_time, value) in zip(pieces, holes):
                parts += (piece, str(value + k * (shift if is_time else step)))
            out.write(''.join(parts) + rest + (',' if k + 1 < copies else ''))
        out.write(text[end:])
    print(f'{target}: {len(once) + copies * len(repeated)} events')


main()
