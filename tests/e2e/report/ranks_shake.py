"""ranks_shake.py DATASET RUN SEED - changes the rows of a run at random: rows that are gone, values that are not known, other operations and sizes.

Types of columns stay; no rank loses its row in SL_RANKS, and times stay those of durations that are not negative.
"""
import glob
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


def main():
    for table, shake in SHAKES.items():
        for path in sorted(glob.glob(f'{folder}/{table}/run={run}/node=*/part-0.parquet')):
            whole = pl.read_parquet(path, hive_partitioning=False)
            kept = [shake(row) for row in whole.iter_rows(named=True) if rng.random() > 0.02]
            pl.DataFrame(kept, schema=whole.schema).write_parquet(path)


main()
