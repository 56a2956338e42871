"""A trace of Perfetto, decoded by protobuf's own library and read as trace_processor reads it.

perfetto.py PB2_DIR TRACE dump               everything, line by line
perfetto.py PB2_DIR TRACE compare REPORT     counts and sums per table of the report; silent when all agree

Reading checks what a reader relies on: order of time, ends that have a beginning, definitions before use,
descriptors before events, and that no field is there which the .proto does not name.
"""
import collections
import sqlite3
import sys

sys.path.insert(0, sys.argv[1])
import perfetto_pb2 as pb  # noqa: E402

TYPE = pb.TrackEvent
Slice = collections.namedtuple('Slice', 'ts dur track depth category name args flows')


def known(message):
    """True when nothing in it is unknown to the .proto: what it does not know would be dropped."""
    return len(message.SerializeToString()) == message.ByteSize() and not unknown(message)


def unknown(message):
    copy = type(message)()
    copy.CopyFrom(message)
    copy.DiscardUnknownFields()
    return copy.ByteSize() != message.ByteSize()


class Reader:
    def __init__(self, path):
        trace = pb.Trace()
        with open(path, 'rb') as f:
            trace.ParseFromString(f.read())
        assert known(trace), 'fields that the .proto does not name'
        self.tables = collections.defaultdict(dict)
        self.tracks, self.stacks, self.slices, self.lines = {}, collections.defaultdict(list), [], []
        self.instants, self.counters, self.flows, self.waking, self.samples = [], [], [], [], []
        self.switches = collections.defaultdict(list)
        self.last = 0
        for i, p in enumerate(trace.packet):
            assert p.trusted_packet_sequence_id == 1
            assert p.first_packet_on_sequence == (i == 0) and (p.sequence_flags & 1) == (i == 0)
            self.packet(p)
        for stack in self.stacks.values():
            for s in stack:
                self.slices.append(s)

    def define(self, data):
        for field, rows in data.ListFields():
            for row in rows:
                table = self.tables[field.name]
                assert row.iid > 0 and row.iid not in table, ('defined twice', field.name, row.iid)
                table[row.iid] = row

    def name(self, kind, iid):
        row = self.tables[kind][iid]
        return row.name if hasattr(row, 'name') else row.str.decode()

    def packet(self, p):
        if p.HasField('interned_data'):
            assert p.sequence_flags == 2
            self.define(p.interned_data)
        if p.HasField('clock_snapshot'):
            names = {1: 'real', 3: 'monotonic', 6: 'boot'}
            assert p.clock_snapshot.primary_trace_clock == 6
            self.lines.append('clocks ' + ' '.join(f'{names[c.clock_id]}={c.timestamp}' for c in p.clock_snapshot.clocks))
        if p.HasField('process_tree'):
            for r in p.process_tree.processes:
                self.lines.append(f'process {r.pid} parent={r.ppid} cmdline={list(r.cmdline)}')
            for r in p.process_tree.threads:
                self.lines.append(f'thread {r.tid} of {r.tgid} {r.name}')
        if p.HasField('track_descriptor'):
            self.track(p.track_descriptor)
        if p.HasField('ftrace_events'):
            self.ftrace(p.ftrace_events)
        if p.HasField('timestamp'):
            assert p.timestamp >= self.last, ('goes back in time', p.timestamp, self.last)
            self.last = p.timestamp
        if p.HasField('track_event'):
            self.event(p.timestamp, p.track_event)
        if p.HasField('perf_sample'):
            s = p.perf_sample
            frames = [self.tables['frames'][f] for f in self.tables['callstacks'][s.callstack_iid].frame_ids] if s.callstack_iid else []
            self.samples.append((p.timestamp, s.cpu, s.pid, s.tid, s.cpu_mode, ';'.join(
                self.name('function_names', f.function_name_id) + '@' + self.name(
                    'mapping_paths', self.tables['mappings'][f.mapping_id].path_string_ids[0]) for f in frames)))

    def track(self, d):
        assert d.uuid > 0 and d.uuid not in self.tracks, ('described twice', d.uuid)
        parent = self.tracks[d.parent_uuid] + '/' if d.HasField('parent_uuid') else ''
        if d.HasField('process'):
            own = f'process {d.process.pid} {d.process.process_name}'
        elif d.HasField('thread'):
            own = f'thread {d.thread.pid}:{d.thread.tid} {d.thread.thread_name}'
        else:
            own = d.name
        self.tracks[d.uuid] = parent + own
        unit = f' unit={d.counter.unit or d.counter.unit_name}' if d.HasField('counter') else ''
        self.lines.append(f'track {parent}{own}{unit}')

    def args(self, e):
        out = {}
        for a in e.debug_annotations:
            (kind, value), = [(f.name, v) for f, v in a.ListFields() if f.name != 'name_iid']
            if kind == 'string_value_iid':
                value = self.name('debug_annotation_string_values', value)
            elif kind == 'array_values':
                value = [v.int_value for v in value]
            elif kind == 'pointer_value':
                value = hex(value)
            out[self.name('debug_annotation_names', a.name_iid)] = value
        return out

    def event(self, ts, e):
        track = self.tracks[e.track_uuid]
        stack = self.stacks[e.track_uuid]
        if e.type == TYPE.END:
            s = stack.pop()
            self.slices.append(s._replace(dur=ts - s.ts))
            return
        if e.type == TYPE.COUNTER:
            self.counters.append((ts, track, e.double_counter_value if e.HasField('double_counter_value')
                                  else e.counter_value))
            return
        s = Slice(ts, -1, track, len(stack), self.name('event_categories', e.category_iids[0]),
                  self.name('event_names', e.name_iid), self.args(e), sorted(e.flow_ids))
        if e.callstack_iid:
            frames = [self.tables['frames'][f] for f in self.tables['callstacks'][e.callstack_iid].frame_ids]
            s.args['callstack'] = ';'.join(self.name('function_names', f.function_name_id) for f in frames)
        if e.type == TYPE.INSTANT:
            self.instants.append(s._replace(dur=0))
        else:
            assert e.type == TYPE.BEGIN
            stack.append(s)

    def ftrace(self, b):
        c = b.compact_sched
        ts = 0
        columns = (c.switch_timestamp, c.switch_prev_state, c.switch_next_pid, c.switch_next_prio,
                   c.switch_next_comm_index)
        assert len({len(x) for x in columns}) == 1
        for delta, state, pid, prio, comm in zip(*columns):
            assert delta >= 0
            ts += delta
            self.switches[b.cpu].append((ts, state, pid, prio, c.intern_table[comm]))
        for e in b.event:
            w = e.sched_waking
            self.waking.append((e.timestamp, e.pid, w.pid, w.comm, w.prio, w.target_cpu))

    def dump(self):
        yield from self.lines
        for s in sorted(self.slices):
            flows = f' flows={s.flows}' if s.flows else ''
            yield f'slice {s.ts} +{s.dur} [{s.track}] {"." * s.depth}{s.category}: {s.name} {s.args}{flows}'
        for s in sorted(self.instants):
            yield f'instant {s.ts} [{s.track}] {s.category}: {s.name} {s.args}'
        for ts, track, value in self.counters:
            yield f'counter {ts} [{track}] {value}'
        for cpu, rows in sorted(self.switches.items()):
            before = None
            for ts, state, pid, prio, comm in rows:
                assert before is None or ts >= before
                before = ts
                yield f'cpu{cpu} {ts} state={state} -> {pid} {comm} prio={prio}'
        for row in sorted(self.waking):
            yield 'waking {} by={} of={} {} prio={} cpu={}'.format(*row)
        for row in self.samples:
            yield 'sample {} cpu={} {}:{} mode={} {}'.format(*row)


def compare(r, path):
    """Counts and sums of time by category, against plain SQL over the report."""
    db = sqlite3.connect(f'file:{path}?mode=ro&immutable=1', uri=True)
    have = {row[0] for row in db.execute('SELECT name FROM sqlite_master')}
    want = collections.Counter()
    total = collections.Counter()
    tables = {'CUPTI_ACTIVITY_KIND_KERNEL': 'kernel', 'CUPTI_ACTIVITY_KIND_GRAPH_TRACE': 'kernel',
              'CUPTI_ACTIVITY_KIND_MEMCPY': 'gpu_memcpy', 'CUPTI_ACTIVITY_KIND_MEMSET': 'gpu_memset',
              'CUPTI_ACTIVITY_KIND_RUNTIME': 'cuda_api',
              'CUPTI_ACTIVITY_KIND_OVERHEAD': 'overhead', 'PROFILER_OVERHEAD': 'overhead', 'OSRT_API': 'osrt'}
    for table, category in tables.items():
        if table in have:
            # Rows of nsys for where a call began and ended are no calls.
            where = 'eventClass NOT IN (31, 32)' if table == 'OSRT_API' and 'SL_PROCESS_TREE' not in have else '1'
            n, ns = db.execute(f'SELECT count(*), ifnull(sum(end - start), 0) FROM {table} WHERE {where}').fetchone()
            want[category] += n
            total[category] += ns
    if 'NVTX_EVENTS' in have:
        n, ns = db.execute('SELECT count(*), ifnull(sum(end - start), 0) FROM NVTX_EVENTS WHERE eventType IN (59, 60)').fetchone()
        want['user_annotation'] += n
        total['user_annotation'] += ns
    got, time = collections.Counter(), collections.Counter()
    for s in r.slices:
        category = 'cuda_api' if s.category in ('cuda_runtime', 'cuda_driver') else s.category
        if category in ('diagnostic', 'lost'):
            continue
        got[category] += 1
        time[category] += max(s.dur, 0)
    for category in sorted(set(want) | set(got)):
        if (want[category], total[category]) != (got[category], time[category]):
            yield f'{category}: {got[category]} slices of {time[category]} ns, in the report {want[category]} of {total[category]}'
    # A call and what it started on the GPU, of one process
    flows = collections.defaultdict(lambda: [0, 0])
    for s in r.slices:
        for f in s.flows:
            flows[f][s.category not in ('cuda_runtime', 'cuda_driver')] += 1
    bad = [f for f, (calls, work) in flows.items() if calls != 1 or work < 1]
    if bad:
        yield f'{len(bad)} flows without a call or without work, such as {bad[0]}'
    arrows = 0
    for table in ('KERNEL', 'MEMCPY', 'MEMSET', 'GRAPH_TRACE'):
        table = 'CUPTI_ACTIVITY_KIND_' + table
        if table in have and 'CUPTI_ACTIVITY_KIND_RUNTIME' in have:
            arrows += db.execute(f'''SELECT count(*) FROM {table} k WHERE EXISTS (SELECT 1 FROM CUPTI_ACTIVITY_KIND_RUNTIME r
                WHERE r.correlationId = k.correlationId AND r.globalTid >> 24 = k.globalPid >> 24 AND r.start <= k.start)''').fetchone()[0]
    if arrows != sum(work for _, work in flows.values()):
        yield f'{sum(work for _, work in flows.values())} arrows, in the report {arrows}'
    if 'SCHED_EVENTS' in have:
        rows = db.execute('SELECT sum(isSchedIn) FROM SCHED_EVENTS').fetchone()[0]
        ins = sum(1 for c in r.switches.values() for row in c if row[2] != 0)
        if rows != ins:
            yield f'{ins} times a thread gets a CPU, in the report {rows}'


def main():
    r = Reader(sys.argv[2])
    lines = list(r.dump() if sys.argv[3] == 'dump' else compare(r, sys.argv[4]))
    print('\n'.join(lines))
    return bool(lines) and sys.argv[3] != 'dump'


if __name__ == '__main__':
    sys.exit(main())
