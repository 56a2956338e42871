"""A profile for pprof, decoded by protobuf's own library; checks what its reader relies on.

pprof.py PB2_DIR PROFILE folded [TYPE]   a line per stack and thread with the value of that type (default: the first)
pprof.py PB2_DIR PROFILE types           types and units, totals
pprof.py PB2_DIR PROFILE mappings        files with addresses and build ids
pprof.py PB2_DIR PROFILE lines           locations: address, then function file:line, innermost first
"""
import collections
import gzip
import sys

sys.path.insert(0, sys.argv[1])
import pprof_pb2 as pb  # noqa: E402

raw = open(sys.argv[2], 'rb').read()
assert raw[:2] == b'\x1f\x8b', 'packed'
p = pb.Profile()
p.ParseFromString(gzip.decompress(raw))
copy = pb.Profile()
copy.CopyFrom(p)
copy.DiscardUnknownFields()
assert copy.ByteSize() == p.ByteSize(), 'fields that the format does not name'
text = list(p.string_table)
assert text[0] == '' and len(set(text)) == len(text), 'texts are there once, the empty one first'


def table(rows):
    found = {r.id: r for r in rows}
    assert 0 not in found and len(found) == len(rows), 'numbers are given once, and none is 0'
    return found


mappings, locations, functions = table(p.mapping), table(p.location), table(p.function)
for loc in p.location:
    assert loc.mapping_id == 0 or loc.mapping_id in mappings
    assert all(line.function_id in functions for line in loc.line)
    m = mappings.get(loc.mapping_id)
    assert not m or not m.memory_limit or m.memory_start <= loc.address < m.memory_limit
for m in p.mapping:
    assert m.has_functions
types = [text[t.type] for t in p.sample_type]
assert len(set(types)) == len(types) and text[p.default_sample_type] in types + ['']
for s in p.sample:
    assert len(s.value) == len(types) and any(s.value) and all(x in locations for x in s.location_id)
    assert all(v >= 0 for v in s.value)


def line(x, with_line):
    f = functions[x.function_id]
    name = text[f.name]
    return '%s %s:%d' % (name, text[f.filename], x.line) if with_line else name


what = sys.argv[3]
if what == 'types':
    for i, t in enumerate(p.sample_type):
        print(text[t.type], text[t.unit], sum(s.value[i] for s in p.sample))
    if p.period:
        print('period', text[p.period_type.type], text[p.period_type.unit], p.period)
    print('default', text[p.default_sample_type], 'time', p.time_nanos, 'duration', p.duration_nanos)
elif what == 'mappings':
    for m in p.mapping:
        print('%x-%x %s %s' % (m.memory_start, m.memory_limit, text[m.filename], text[m.build_id]))
elif what == 'lines':
    for loc in p.location:
        m = mappings.get(loc.mapping_id)
        print('%x %s: %s' % (loc.address, text[m.filename] if m else '-', ' < '.join(line(x, True) for x in loc.line)))
else:
    column = types.index(sys.argv[4]) if len(sys.argv) > 4 else 0
    total = collections.Counter()
    for s in p.sample:
        label = {text[x.key]: text[x.str] if x.str else x.num for x in s.label}
        frames = [line(x, False) for i in s.location_id for x in locations[i].line]
        frames += [label['thread'] if 'thread' in label else 'thread', label['process']]
        if s.value[column]:
            total[';'.join(reversed(frames))] += s.value[column]
    for k in sorted(total):
        print(k, total[k])
