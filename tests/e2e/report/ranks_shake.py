"""ranks_shake.py DATASET RUN SEED - changes the rows of a run at random: rows that are gone, values that are not known, other operations and sizes.

Types of columns stay; no rank loses its row in SL_RANKS, and times stay those of durations that are not negative.
"""
import glob
import os
import random
import sys

import polars as pl

folder, run, rng = sys.argv[1], sys.argv[2], random.Random(int(sys.argv[3]))
OPS = ('AllReduce', 'AllGather', 'ReduceScatter', 'Broadcast', 'Reduce', 'AlltoAll', 'Gather', 'Scatter')


def collective(row):
    if rng.random() < 0.02:
        row['start'] = row['end'] = None
    if rng.random() < 0.05:
        row['step'] = None
    if rng.random() < 0.02:
        row['commHash'] = None
    if rng.random() < 0.02:
        row['nRanks'] = None
    if rng.random() < 0.01:
        row['op'] = rng.choice(OPS)
    if rng.random() < 0.01:
        row['bytes'] *= 2
    # All ranks' n-th call is of the same kind, mostly.
    if row['seq'] % 7 < 3 and rng.random() < 0.99:
        row['op'] = OPS[row['seq'] % 7 + (row['commHash'] or 0) % 4]
    if row['start'] is not None:
        row['start'] -= rng.randrange(3) * 100000
        row['end'] += 9 * 10**12 if rng.random() < 0.002 else 0
    return row


def step(row):
    if rng.random() < 0.05:
        row['gpuBusyNs'] = row['collNs'] = row['exposedCollNs'] = None
    row['sleepNs'] = rng.randrange(10**6)
    row['lockNs'] = rng.randrange(10**6)
    row['networkNs'] = rng.randrange(10**6)
    return row


def minute(row):
    row['ns'] += rng.randrange(10**6)
    if 'bytes' in row and rng.random() < 0.1:
        row['bytes'] = None
    if rng.random() < 0.1:
        row['name' if 'name' in row else 'path'] += rng.choice('xyz')
    return row


SHAKES = {'SL_COLLECTIVES': collective, 'SL_STEPS': step, 'SL_KERNELS': minute, 'SL_FILES': minute, 'SL_CALLS': minute}


COUNTERS = (('SM Clock', 'Hz', 0, 2 * 10**9), ('Throttled: Power', 'ns', 1, 10**9), ('Throttled: HW Thermal Slowdown', 'ns', 1, 10**9), ('Throttled: Low Utilization', 'ns', 1, 10**10),
            ('Temperature', 'C', 0, 90), ('ECC Uncorrected', 'errors', 1, 2), ('xid 31', 'events', 1, 2))


def health():
    """Readings of the GPUs of most ranks."""
    for path in sorted(glob.glob(f'{folder}/SL_RANKS/run={run}/node=*/part-0.parquet')):
        found = [{'rank': rank, 'minute': minute, 'name': name, 'unit': unit, 'isSum': is_sum, 'n': 1 + rng.randrange(5), 'total': rng.randrange(most), 'least': 0, 'most': rng.randrange(most),
                  'restart': 0}
                 for rank in pl.read_parquet(path, hive_partitioning=False)['rank'] if rng.random() < 0.9 for minute in range(3) for name, unit, is_sum, most in COUNTERS if rng.random() < 0.9]
        place = path.replace('/SL_RANKS/', '/SL_GPU_HEALTH/')
        os.makedirs(os.path.dirname(place), exist_ok=True)
        pl.DataFrame(found, schema={c: pl.String if c in ('name', 'unit') else pl.Int64 for c in found[0]}).write_parquet(place)


def main():
    health()
    for table, shake in SHAKES.items():
        for path in sorted(glob.glob(f'{folder}/{table}/run={run}/node=*/part-0.parquet')):
            whole = pl.read_parquet(path, hive_partitioning=False)
            kept = [shake(row) for row in whole.iter_rows(named=True) if rng.random() > 0.02]
            pl.DataFrame(kept, schema=whole.schema).write_parquet(path)


main()
