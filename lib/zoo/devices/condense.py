#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Condenses measured tables into the `measured` grids of the profiles beside this file.

    condense.py            prints what each profile should have, as JSON
    condense.py --check    whether the profiles have it: exit 1 if one has something else
    condense.py --write    puts it into the profiles

$LINNET_SHARED/data/measured holds the tables: gemm-, attention-, nccl-aiconfigurator.csv and
nccl-allreduce-vtrain.csv. A grid has a value at every corner; where a corner was not measured it is
a mean of the measured ones, as described at each grid below. Everything is averaged as logarithms,
because the grids are read on logarithmic scales.
"""
import collections
import csv
import json
import math
import os
import re
import sys

# Not taken: fp8 products, because no operation of the backends runs in fp8; the H100's products,
# attention and gathers, because its profile has those of the software and the machine that its steps
# were measured with, and they are the nearer to them.
DEVICES = {
    'a100-80gb': {'gpu': 'A100-SXM-80GB', 'products': True, 'attention': True,
                  'sums': ('nccl-allreduce-vtrain.csv', 'A100')},
    'a100-40gb': {'like': 'a100-80gb', 'bytes': 1.555 / 2.039},
    'h100-80gb': {'gpu': 'H100-SXM-80GB', 'kinds': ['all_to_all']},
    'h200': {'gpu': 'H200-SXM', 'products': True},
    'b200': {'gpu': 'B200-SXM', 'products': True, 'attention': True},
    'gb200': {'gpu': 'GB200'},
    'l40s': {'gpu': 'L40S'},
    'v100-32gb': {'sums': ('nccl-allreduce-vtrain.csv', 'V100')},
    'v100-16gb': {'like': 'v100-32gb'},
}
WIDTHS = [1024, 2048, 4096, 8192, 16384]
LENGTHS = [512, 2048, 4096, 8192, 16384]
HEADS = [16, 64, 256, 1024]
SKINNY = 128  # rows up to which a product waits for its weight
CACHES = [2 ** 20, 2 ** 22, 2 ** 24, 2 ** 26, 2 ** 28]
MESSAGES = [2 ** n for n in range(9, 30, 2)]
KINDS = {'all_reduce': 'all_reduce', 'all_gather': 'all_gather',
         'reduce_scatter': 'reduce_scatter', 'alltoall': 'all_to_all'}


def rounded(value):
    return float(f'{value:.4g}')


def mean(values):
    """Geometric."""
    values = list(values)
    return math.exp(sum(math.log(v) for v in values) / len(values))


def rows_of(folder, name):
    with open(os.path.join(folder, 'data', 'measured', name), newline='') as file:
        return list(csv.DictReader(file))


def source_of(row, extra=''):
    return f"{row['source']} ({row['commit']}), {row['framework']}{extra}"


# ---- products: seconds of [rows, in] x [in, out] as a rate ----

def solve(matrix):
    """Three equations, [a, b, c | d] each, by elimination with pivots."""
    for i in range(3):
        pivot = max(range(i, 3), key=lambda r: abs(matrix[r][i]))
        matrix[i], matrix[pivot] = matrix[pivot], matrix[i]
        for r in range(3):
            if r != i:
                factor = matrix[r][i] / matrix[i][i]
                matrix[r] = [a - factor * b for a, b in zip(matrix[r], matrix[i])]
    return [matrix[i][3] / matrix[i][i] for i in range(3)]


def at_weight(known, out, width):
    """As measured; else on the plane through the measured (out, in), on logarithmic scales, the
    nearer ones counting more. Leaving each out in turn, it is found within 7 % on average."""
    if (out, width) in known:
        return known[out, width]
    matrix = [[0.0] * 4 for _ in range(3)]
    for (o, i), value in known.items():
        x = (1, math.log2(o / out), math.log2(i / width))
        weight = (x[1] ** 2 + x[2] ** 2) ** -2
        for r in range(3):
            for c in range(3):
                matrix[r][c] += weight * x[r] * x[c]
            matrix[r][3] += weight * x[r] * math.log(value)
    return math.exp(solve(matrix)[0])


def products(folder, gpu):
    measured = collections.defaultdict(dict)
    last = None
    for row in rows_of(folder, 'gemm-aiconfigurator.csv'):
        if row['gpu'] != gpu or row['dtype'] != 'bf16':
            continue
        m, n, k = map(int, re.match(r'm (\d+) n (\d+) k (\d+)', row['notes']).groups())
        measured[m][n, k] = 2 * m * n * k / (float(row['value']) * 1e-6)
        last = row
    lengths = sorted(measured)
    return {'bf16': {
        'source': source_of(last, '; about half of the weights measured, the others between them'),
        'rows': lengths, 'out': WIDTHS, 'in': WIDTHS,
        'rates': [rounded(at_weight(measured[m], o, i)) for m in lengths for o in WIDTHS
                  for i in WIDTHS]}}


# ---- attention, 128 wide: 4 D + 6 operations a pair, half under a causal mask ----

def nearest(points, value):
    return min(points, key=lambda p: abs(math.log(p / value)))


def attention(folder, gpu):
    prefill = collections.defaultdict(list)
    decode = collections.defaultdict(list)
    last = None
    for row in rows_of(folder, 'attention-aiconfigurator.csv'):
        if row['gpu'] != gpu:
            continue
        heads, kv, width, batch, length = (
            int(row[k]) for k in ('heads', 'kv_heads', 'head_dim', 'micro_batch', 'seq'))
        seconds = float(row['value']) * 1e-6
        last = row
        if row['measured_quantity'] == 'attention_prefill_time':
            work = (4 * width + 6) * heads * batch * length ** 2 / 2
            prefill[length, nearest(HEADS, heads * batch)].append(work / seconds)
        else:
            cache = 2 * 2 * kv * width * length * batch
            decode[nearest(CACHES, cache)].append(cache / seconds)
    # The longest with the most heads do not fit the card: as with fewer.
    for length in LENGTHS:
        for fewer, more in zip(HEADS, HEADS[1:]):
            prefill.setdefault((length, more), prefill[length, fewer])
    source = source_of(last)
    grids = {'attention': {'causal/128': {
        'source': source, 'length': LENGTHS, 'heads': HEADS,
        'rates': [rounded(mean(prefill[s, h])) for s in LENGTHS for h in HEADS]}}}
    grids['decode'] = {
        'source': source, 'bytes': CACHES,
        'rates': [rounded(mean(decode[b])) for b in CACHES]}
    return grids


# ---- collectives: bytes of the whole result, of a scatter of the whole operand ----

def at_messages(points):
    """Seconds at MESSAGES, from the nearest below and above; the smallest below them all."""
    sizes = sorted(points)
    out = []
    for size in MESSAGES:
        below = max((s for s in sizes if s <= size), default=sizes[0])
        above = min((s for s in sizes if s >= size), default=sizes[-1])
        if below >= above:
            out.append(points[below])
            continue
        share = math.log(size / below) / math.log(above / below)
        out.append(math.exp(math.log(points[below]) * (1 - share) + math.log(points[above]) * share))
    return out


def gather_and_scatter(seconds, processes):
    """A sum is a scatter and a gather: the shape of small ones, where no sum was measured."""
    groups = [g for g in seconds['all_gather'] if g in seconds['reduce_scatter']]
    if not groups:
        return None
    group = nearest(groups, processes)
    return {size: seconds['all_gather'][group][size] + seconds['reduce_scatter'][group][size]
            for size in seconds['all_gather'][group] if size in seconds['reduce_scatter'][group]}


def extend_down(points, shape):
    """Below the smallest message: in proportion to `shape`, else as the smallest."""
    first = min(points)
    return {**{size: points[first] * value / shape[first] for size, value in (shape or {}).items()
               if size < first}, **points}


def collectives(folder, gpu, sums, kinds):
    seconds = collections.defaultdict(lambda: collections.defaultdict(dict))
    sources = {}
    for row in rows_of(folder, 'nccl-aiconfigurator.csv') if gpu else []:
        if row['gpu'] != gpu:
            continue
        kind = KINDS[row['notes'].split(',')[0]]
        size = 2 * int(re.search(r'message_size (\d+)', row['notes']).group(1))
        seconds[kind][int(row['gpu_count'])][size] = float(row['value']) * 1e-6
        sources[kind] = source_of(row)
    for row in rows_of(folder, sums[0]) if sums else []:
        if row['gpu'] != sums[1]:
            continue
        size = int(re.search(r'of (\d+) bytes', row['notes']).group(1))
        seconds['all_reduce'][int(row['gpu_count'])][size] = float(row['value']) * 1e-6
        sources['all_reduce'] = source_of(row, '; 1 MiB and more, smaller ones in proportion to '
                                          'gathers and scatters' if gpu else '; 1 MiB and more')
    grids = {}
    for kind in KINDS.values():
        if kind not in sources or kind not in kinds:
            continue
        groups = sorted(seconds[kind])
        values = []
        for group in groups:
            points = seconds[kind][group]
            if sums and kind == 'all_reduce':
                points = extend_down(points, gather_and_scatter(seconds, group))
            values += at_messages(points)
        grids[kind] = {'source': sources[kind], 'processes': groups, 'bytes': MESSAGES,
                       'seconds': [rounded(v) for v in values]}
    return grids


# ---- profiles ----

def with_bandwidth(grids, ratio):
    """The same chip with another memory: what its bytes bind goes by the ratio of bandwidths."""
    if ratio == 1:
        return grids
    words = '; of a card with other memory: bytes by the ratio of bandwidths'
    for product in grids['products'].values():
        corners = len(product['out']) * len(product['in'])
        product['source'] += words
        product['rates'] = [rounded(rate * (ratio if product['rows'][i // corners] <= SKINNY else 1))
                            for i, rate in enumerate(product['rates'])]
    grids['decode']['source'] += words
    grids['decode']['rates'] = [rounded(rate * ratio) for rate in grids['decode']['rates']]
    return grids



def condense(folder, name):
    device = DEVICES[name]
    if 'like' in device:
        return with_bandwidth(condense(folder, device['like']), device.get('bytes', 1))
    grids = {}
    if device.get('products'):
        grids['products'] = products(folder, device['gpu'])
    if device.get('attention'):
        grids.update(attention(folder, device['gpu']))
    grids['collectives'] = collectives(folder, device.get('gpu'), device.get('sums'),
                                       device.get('kinds', KINDS.values()))
    return grids


def profile_path(name):
    return os.path.join(os.path.dirname(os.path.abspath(__file__)), name + '.json')


def list_text(values, indent):
    """Numbers, some to a line."""
    lines, line = [], ''
    for i, value in enumerate(values):
        number = str(value) if isinstance(value, int) else f'{value:.4g}'.replace('e+', 'e')
        piece = number + (',' if i + 1 < len(values) else '')
        if line and len(indent) + 2 + len(line) + len(piece) > 98:
            lines.append(line.rstrip())
            line = ''
        line += piece + ' '
    lines.append(line.rstrip())
    if len(lines) == 1:
        return '[' + lines[0] + ']'
    return '[\n' + '\n'.join(indent + '  ' + x for x in lines) + '\n' + indent + ']'


def object_text(value, indent):
    inner = indent + '  '
    parts = []
    for key, item in value.items():
        text = (object_text(item, inner) if isinstance(item, dict) else
                list_text(item, inner) if isinstance(item, list) else json.dumps(item))
        parts.append(f'{inner}{json.dumps(key)}: {text}')
    return '{\n' + ',\n'.join(parts) + '\n' + indent + '}'


def write(name, grids):
    with open(profile_path(name)) as file:
        text = file.read()
    start = text.find(',\n  "measured": ')
    body = text[:start] if start >= 0 else text.rstrip()[:-1].rstrip()
    body = body.replace('"version": 1', '"version": 2')
    with open(profile_path(name), 'w') as file:
        file.write(body + ',\n  "measured": ' + object_text(grids, '  ') + '\n}\n')


def main(arguments):
    if arguments not in ([], ['--check'], ['--write']):
        print(__doc__, file=sys.stderr)
        return 2
    folder, status = os.environ.get('LINNET_SHARED', ''), 0
    if not os.path.isdir(os.path.join(folder, 'data', 'measured')):
        print('skipped: no data/measured: set LINNET_SHARED')
        return 77
    for name in DEVICES:
        grids = condense(folder, name)
        if arguments == ['--write']:
            write(name, grids)
        elif arguments == ['--check']:
            with open(profile_path(name)) as file:
                found = json.load(file).get('measured', {})
            same = {key: found.get(key) for key in grids} == grids
            print(f"{name}: {'as measured' if same else 'other grids than the tables give'}")
            status |= not same
        else:
            print(json.dumps({name: grids}))
    return status


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
