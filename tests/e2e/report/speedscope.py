"""speedscope.py FILE: the profile as folded stacks; fails where the file is none.

What speedscope's importer relies on: the format's fields and types, frames that exist, events in order of time,
each closed in the reverse order of opening, weights as many as samples.
"""
import collections
import json
import sys

f = json.load(open(sys.argv[1], encoding='utf-8'))
assert f['$schema'] == 'https://www.speedscope.app/file-format-schema.json'
assert set(f) <= {'$schema', 'profiles', 'shared', 'name', 'exporter', 'activeProfileIndex'}, set(f)
frames = f['shared']['frames']
assert all(set(x) == {'name'} and isinstance(x['name'], str) for x in frames)
for p in f['profiles']:
    folded = collections.Counter()
    assert isinstance(p['name'], str) and p['endValue'] >= p['startValue']
    if p['type'] == 'evented':
        assert set(p) == {'type', 'name', 'unit', 'startValue', 'endValue', 'events'} and p['unit'] == 'nanoseconds'
        stack, last = [], p['startValue']
        for e in p['events']:
            assert set(e) == {'type', 'frame', 'at'} and 0 <= e['frame'] < len(frames)
            assert last <= e['at'] <= p['endValue'], e
            if stack:
                folded[';'.join(frames[x]['name'] for x in stack)] += e['at'] - last
            last = e['at']
            if e['type'] == 'O':
                stack.append(e['frame'])
            else:
                assert e['type'] == 'C' and stack.pop() == e['frame'], e
        assert not stack
    else:
        assert p['type'] == 'sampled' and p['unit'] in ('none', 'nanoseconds', 'bytes')
        assert set(p) == {'type', 'name', 'unit', 'startValue', 'endValue', 'samples', 'weights'}
        assert len(p['samples']) == len(p['weights']) and sum(p['weights']) == p['endValue'] - p['startValue']
        for s, w in zip(p['samples'], p['weights']):
            assert s and all(0 <= x < len(frames) for x in s)
            folded[';'.join(frames[x]['name'] for x in s)] += w
    for stack, weight in sorted(folded.items()):
        if weight:
            print(f"{p['name']} | {stack} {weight}")
