"""What the reports on CUDA, unified memory, libc and system calls must say, worked out from the tables in plain Python.

stats_cuda.py DATABASE REPORT[:ARG...] [csv]: prints the rows as JSON, or as sightline writes CSV.
"""
import csv, decimal, json, re, sqlite3, sys
from fractions import Fraction

PID = 0xFFFFFF


class Database:
    def __init__(self, path):
        self.db = sqlite3.connect('file:%s?mode=ro' % path, uri=True)
        self.db.row_factory = sqlite3.Row
        self.tables = {r[0] for r in self.db.execute('SELECT name FROM sqlite_master')}
        self.text = {r['id']: r['value'] for r in self.rows('StringIds')}

    def rows(self, table):
        """Every row as a dict that says None to columns which are not there."""
        if table not in self.tables:
            return []
        return [Row(r) for r in self.db.execute('SELECT * FROM ' + table)]

    def label(self, table, number):
        return {r['id']: r['label'] for r in self.rows(table)}.get(number)


class Row(dict):
    def __missing__(self, key):
        return None


def plain(name):
    return re.sub(r'_v\d{4}$', '', name)


def rounded(x, digits):
    """Half away from zero, from the exact figure."""
    if x is None:
        return None
    if isinstance(x, Fraction):
        with decimal.localcontext() as c:
            c.prec = 60
            x = decimal.Decimal(x.numerator) / x.denominator
    return float(decimal.Decimal(x).quantize(decimal.Decimal(1).scaleb(-digits), decimal.ROUND_HALF_UP))


def figures(values):
    """Sum, count, mean, median, least, most, standard deviation of the sample; exact but for the last."""
    n, total = len(values), sum(values)
    values = sorted(values)
    mean = Fraction(total, n)
    with decimal.localcontext() as c:
        c.prec = 60
        squares = sum((v - mean) ** 2 for v in values)
        var = decimal.Decimal(squares.numerator) / squares.denominator / (n - 1) if n > 1 else decimal.Decimal(0)
        std = var.sqrt()
    return total, n, mean, Fraction(values[(n - 1) // 2] + values[n // 2], 2), values[0], values[-1], std


def sum_up(groups, count, tail, order):
    """groups: key -> durations; tail(key) -> the last columns; the table of a *_sum report."""
    whole = sum(map(sum, groups.values()))
    out = []
    for key, values in groups.items():
        total, n, mean, med, least, most, std = figures(values)
        out.append(({'Time (%)': rounded(Fraction(100 * total, whole), 1) if whole else None, 'Total Time (ns)': total, count: n,
                     'Avg (ns)': rounded(mean, 1), 'Med (ns)': rounded(med, 1), 'Min (ns)': least, 'Max (ns)': most,
                     'StdDev (ns)': rounded(std, 1), **tail(key)}))
    return sorted(out, key=lambda r: (-r['Total Time (ns)'], *order(r)))


def group(pairs):
    out = {}
    for key, value in pairs:
        out.setdefault(key, []).append(value)
    return out


def by_call(db, table, strip=False, only=lambda r: True):
    names = group((plain(db.text[r['nameId']]) if strip else db.text[r['nameId']], r['end'] - r['start'])
                  for r in db.rows(table) if r['end'] is not None and only(r))
    return sum_up(names, 'Num Calls', lambda k: {'Name': k}, lambda r: [r['Name']])


# ---- launches, the ranges they are in, kernels ----

def launches(db):
    """(process, correlation id) -> the call."""
    out = {}
    for r in db.rows('CUPTI_ACTIVITY_KIND_RUNTIME'):
        if r['correlationId'] is not None:
            out.setdefault((r['globalTid'] >> 24, r['correlationId']), r)
    return out


def enclosing(db):
    """(process, correlation id) -> text of the innermost push/pop range around the call: a stack per thread and domain."""
    ranges = group(((r['globalTid'], r['domainId'] or 0), r) for r in db.rows('NVTX_EVENTS')
                   if r['eventType'] == 59 and r['end'] is not None)
    threads = group((key[0], sorted(list_, key=lambda r: (r['start'], -r['end']))) for key, list_ in ranges.items())
    calls = group((r['globalTid'], (r, key)) for key, r in launches(db).items())
    found = {}
    for tid, list_ in calls.items():
        for domain in threads.get(tid, []):
            stack, at = [], 0
            for call, key in sorted(list_, key=lambda c: c[0]['start']):
                while at < len(domain) and domain[at]['start'] <= call['start']:
                    while stack and stack[-1]['end'] <= domain[at]['start']:
                        stack.pop()
                    stack.append(domain[at])
                    at += 1
                inner = next((r for r in reversed(stack) if r['end'] >= call['end']), None)
                if inner is not None and (key not in found or inner['start'] > found[key]['start']):
                    found[key] = inner
    return {k: r['text'] if r['text'] is not None else db.text[r['textId']] for k, r in found.items()}


def kernels(db, args):
    """Kernels with their name as the arguments want it."""
    around = enclosing(db) if 'nvtx-name' in args else {}
    out = []
    for k in db.rows('CUPTI_ACTIVITY_KIND_KERNEL'):
        if k['end'] is None:
            continue
        name = k['shortName'] if 'base' in args else k['mangledName'] if 'mangled' in args else None
        name = k['demangledName'] if name is None else name
        text = around.get((k['globalPid'] >> 24, k['correlationId']))
        k['name'] = ('' if text is None else text + '/') + db.text.get(name, '[unknown %s]' % name)
        k['dur'] = k['end'] - k['start']
        out.append(k)
    return out


def size(r, what):
    return '%4d %4d %4d' % tuple(r[what + d] for d in 'XYZ')


def memory_operations(db):
    kind = {r['id']: r['label'] for r in db.rows('ENUM_CUDA_MEMCPY_OPER')}
    for r in db.rows('CUPTI_ACTIVITY_KIND_MEMCPY'):
        yield '[CUDA memcpy %s]' % kind.get(r['copyKind'], r['copyKind']), r
    for r in db.rows('CUPTI_ACTIVITY_KIND_MEMSET'):
        yield '[CUDA memset]', r


def together(db, args, api):
    groups = group(((1, k['name']), k['dur']) for k in kernels(db, args))
    groups.update(group(((2, name), r['end'] - r['start']) for name, r in memory_operations(db)))
    if api:
        groups.update(group(((3, plain(db.text[r['nameId']])), r['end'] - r['start'])
                            for r in db.rows('CUPTI_ACTIVITY_KIND_RUNTIME') if r['end'] is not None))
    word = {1: 'CUDA_KERNEL', 2: 'MEMORY_OPER', 3: 'CUDA_API'}
    return sum_up(groups, 'Instances', lambda k: {'Category': word[k[0]], 'Operation': k[1]},
                  lambda r: [r['Category'] != 'CUDA_KERNEL', r['Category'] == 'CUDA_API', r['Operation']])


def executions(db, args):
    calls = launches(db)
    for k in kernels(db, args):
        a = calls.get((k['globalPid'] >> 24, k['correlationId']))
        if a is not None and k['correlationId'] is not None and a['end'] is not None:
            yield a, k, plain(db.text[a['nameId']])


# ---- reports ----

def cuda_gpu_kern_sum(db, args):
    return sum_up(group((k['name'], k['dur']) for k in kernels(db, args)), 'Instances', lambda k: {'Name': k}, lambda r: [r['Name']])


def cuda_gpu_kern_gb_sum(db, args):
    return sum_up(group(((size(k, 'grid'), size(k, 'block'), k['name']), k['dur']) for k in kernels(db, args)), 'Instances',
                  lambda k: dict(zip(('GridXYZ', 'BlockXYZ', 'Name'), k)), lambda r: [r['Name'], r['GridXYZ'], r['BlockXYZ']])


def cuda_gpu_mem_time_sum(db, args):
    return sum_up(group((name, r['end'] - r['start']) for name, r in memory_operations(db)), 'Count',
                  lambda k: {'Operation': k}, lambda r: [r['Operation']])


def cuda_gpu_mem_size_sum(db, args):
    out = []
    for name, sizes in group((name, r['bytes']) for name, r in memory_operations(db)).items():
        total, n, mean, med, least, most, std = figures(sizes)
        row = {'Total (MB)': total, 'Count': n, 'Avg (MB)': mean, 'Med (MB)': med, 'Min (MB)': least, 'Max (MB)': most, 'StdDev (MB)': std}
        million = decimal.Decimal(1000000)
        row = {k: v if k == 'Count' else rounded(v / (million if k == 'StdDev (MB)' else Fraction(million)), 3) for k, v in row.items()}
        out.append((-total, name, {**row, 'Operation': name}))
    return [r[2] for r in sorted(out, key=lambda r: r[:2])]


def cuda_api_trace(db, args):
    names = {}
    for t in db.rows('ThreadNames'):
        if t['globalTid'] not in names or names[t['globalTid']]['nameId'] < t['nameId']:
            names[t['globalTid']] = t
    out = []
    for r in sorted(db.rows('CUPTI_ACTIVITY_KIND_RUNTIME'), key=lambda r: (r['start'], r['globalTid'], r['correlationId'] or 0)):
        t = names.get(r['globalTid'], Row())
        out.append({'Start (ns)': r['start'], 'Duration (ns)': r['end'] - r['start'] if r['end'] is not None else None,
                    'Name': plain(db.text[r['nameId']]), 'Result': r['returnValue'], 'CorrID': r['correlationId'],
                    'Pid': r['globalTid'] >> 24 & PID, 'Tid': r['globalTid'] & PID, 'T-Pri': t['priority'],
                    'Thread Name': db.text.get(t['nameId'])})
    return out


def numbered(db, packed, device):
    """The number of the GPU that a process means by a device."""
    return min((d['gpuId'] for d in db.rows('TARGET_INFO_CUDA_DEVICE') if (d['pid'], d['cudaId']) == (packed >> 24 & PID, device)), default=device)


def cuda_gpu_trace(db, args):
    gpus = {g['id']: g['name'] for g in db.rows('TARGET_INFO_GPU')}
    mapped = {(d['pid'], d['cudaId']): gpus.get(d['gpuId']) for d in db.rows('TARGET_INFO_CUDA_DEVICE')}
    memory = {r['id']: r['label'] for r in db.rows('ENUM_CUDA_MEM_KIND')}
    mb = lambda n: rounded(Fraction(n, 1000000), 3)
    ops = [(1, k['name'], k) for k in kernels(db, args)]
    ops += [(3 if name == '[CUDA memset]' else 2, name, r) for name, r in memory_operations(db)]
    ops.sort(key=lambda o: (o[2]['start'], o[2]['globalPid'], o[2]['deviceId'], o[2]['streamId'], o[0], o[2]['correlationId']))
    out = []
    for category, name, r in ops:
        dur, kernel = r['end'] - r['start'], category == 1
        row = {'Start (ns)': r['start'], 'Duration (ns)': dur, 'CorrId': r['correlationId']}
        row.update({h: r[c] for h, c in (('GrdX', 'gridX'), ('GrdY', 'gridY'), ('GrdZ', 'gridZ'), ('BlkX', 'blockX'), ('BlkY', 'blockY'),
                                         ('BlkZ', 'blockZ'), ('Reg/Trd', 'registersPerThread'))})
        row['StcSMem (MB)'] = mb(r['staticSharedMemory']) if kernel else None
        row['DymSMem (MB)'] = mb(r['dynamicSharedMemory']) if kernel else None
        row['Bytes (MB)'] = None if kernel else mb(r['bytes'])
        row['Throughput (MB/s)'] = None if kernel or dur == 0 else rounded(Fraction(1000 * r['bytes'], dur), 3)
        src, dst = {1: (None, None), 2: (r['srcKind'], r['dstKind']), 3: (r['memKind'], None)}[category]
        row['SrcMemKd'], row['DstMemKd'] = memory.get(src), memory.get(dst)
        gpu = mapped.get((r['globalPid'] >> 24 & PID, r['deviceId'])) or gpus.get(r['deviceId'])
        row['Device'] = '%s(%d)' % (gpu + ' ' if gpu else '', numbered(db, r['globalPid'], r['deviceId']))
        row.update({'Ctx': r['contextId'], 'GreenCtx': r['greenContextId'] or None, 'Strm': r['streamId'], 'Name': name})
        out.append(row)
    return out


def cuda_kern_exec_trace(db, args):
    out = []
    for a, k, api in sorted(executions(db, args), key=lambda e: (e[0]['start'], e[0]['globalTid'], e[1]['start'], e[1]['deviceId'],
                                                                 e[1]['streamId'], e[1]['correlationId'])):
        queue = k['start'] - a['end']
        out.append({'API Start (ns)': a['start'], 'API Dur (ns)': a['end'] - a['start'], 'Queue Start (ns)': a['end'] if queue > 0 else None,
                    'Queue Dur (ns)': queue if queue > 0 else None, 'Kernel Start (ns)': k['start'], 'Kernel Dur (ns)': k['dur'],
                    'Total Dur (ns)': max(a['end'], k['end']) - a['start'], 'PID': a['globalTid'] >> 24 & PID, 'TID': a['globalTid'] & PID,
                    'DevId': numbered(db, a['globalTid'], k['deviceId']), 'API Function': api, 'GridXYZ': size(k, 'grid'), 'BlockXYZ': size(k, 'block'),
                    'Kernel Name': k['name']})
    return out


def cuda_kern_exec_sum(db, args):
    out = []
    for (tid, device, api, kernel), list_ in group(((a['globalTid'], k['deviceId'], api, k['name']), (a, k))
                                                   for a, k, api in executions(db, args)).items():
        parts = {'T': [max(a['end'], k['end']) - a['start'] for a, k in list_], 'A': [a['end'] - a['start'] for a, k in list_],
                 'Q': [k['start'] - a['end'] for a, k in list_ if k['start'] > a['end']], 'K': [k['dur'] for a, k in list_]}
        row = {'PID': tid >> 24 & PID, 'TID': tid & PID, 'DevId': numbered(db, tid, device), 'Count': len(list_), 'QCount': len(parts['Q'])}
        for letter, values in parts.items():
            _, _, mean, med, least, most, std = figures(values) if values else [None] * 7
            row.update({letter + 'Avg (ns)': rounded(mean, 1), letter + 'Med (ns)': rounded(med, 1), letter + 'Min (ns)': least,
                        letter + 'Max (ns)': most, letter + 'StdDev (ns)': rounded(std, 1)})
        out.append((-sum(parts['T']), tid, device, api, kernel, {**row, 'API Name': api, 'Kernel Name': kernel}))
    return [r[-1] for r in sorted(out, key=lambda r: r[:-1])]


def um_sum(db, args):
    limit = next((int(a[5:]) for a in args if a.startswith('rows=')), 10)
    cpu, gpu = db.rows('CUDA_UM_CPU_PAGE_FAULT_EVENTS'), db.rows('CUDA_UM_GPU_PAGE_FAULT_EVENTS')
    moved = [r for r in db.rows('CUPTI_ACTIVITY_KIND_MEMCPY') if r['copyKind'] in (11, 12)]
    out = []
    for address in {r['virtualAddress'] for r in moved} | {r['address'] for r in cpu} | {r['address'] for r in gpu}:
        mine = [r for r in moved if r['virtualAddress'] == address]
        h2d, d2h = (sum(r['bytes'] for r in mine if r['copyKind'] == kind) for kind in (11, 12))
        time = sum(r['end'] - r['start'] for r in mine)
        c = sum(r['address'] == address for r in cpu)
        g = sum(r['numberOfPageFaults'] for r in gpu if r['address'] == address)
        out.append((-h2d - d2h, -c - g, address, {
            'Virtual Address': '0x%X' % address, 'HtoD Migration Size (MB)': rounded(Fraction(h2d, 1000000), 3),
            'DtoH Migration Size (MB)': rounded(Fraction(d2h, 1000000), 3), 'CPU Page Faults': c if cpu else None,
            'GPU Page Faults': g if gpu else None,
            'Migration Throughput (MB/s)': rounded(Fraction(1000 * (h2d + d2h), time), 3) if time else None}))
    out = [r[-1] for r in sorted(out, key=lambda r: r[:-1])]
    return out if limit < 0 else out[:limit]


def um_total_sum(db, args):
    cpu, gpu = db.rows('CUDA_UM_CPU_PAGE_FAULT_EVENTS'), db.rows('CUDA_UM_GPU_PAGE_FAULT_EVENTS')
    moved = [r for r in db.rows('CUPTI_ACTIVITY_KIND_MEMCPY') if r['copyKind'] in (11, 12, 13)]
    mb = lambda kind: rounded(Fraction(sum(r['bytes'] for r in moved if r['copyKind'] == kind), 1000000), 3) \
        if any(r['copyKind'] == kind for r in moved) else None
    where = [r['virtualAddress'] for r in moved] or [r['address'] for r in cpu + gpu]
    return [{'Total HtoD Migration Size (MB)': mb(11), 'Total DtoH Migration Size (MB)': mb(12),
             'Total CPU Page Faults': len(cpu) or None, 'Total GPU PageFaults': sum(r['numberOfPageFaults'] for r in gpu) or None,
             'Minimum Virtual Address': '0x%X' % min(where), 'Maximum Virtual Address': '0x%X' % max(where)}]


def um_cpu_page_faults_sum(db, args):
    names = group((db.text.get(r['CpuInstruction'], '[unknown %s]' % r['CpuInstruction']), 1) for r in db.rows('CUDA_UM_CPU_PAGE_FAULT_EVENTS'))
    return [{'CPU Page Faults': len(n), 'CPU Instruction Address': k} for k, n in sorted(names.items(), key=lambda i: (-len(i[1]), i[0]))]


REPORTS = {f.__name__: f for f in (
    cuda_gpu_kern_sum, cuda_gpu_kern_gb_sum, cuda_gpu_mem_time_sum, cuda_gpu_mem_size_sum, cuda_api_trace, cuda_gpu_trace,
    cuda_kern_exec_trace, cuda_kern_exec_sum, um_sum, um_total_sum, um_cpu_page_faults_sum)}
REPORTS.update(cuda_gpu_sum=lambda db, args: together(db, args, False), cuda_api_gpu_sum=lambda db, args: together(db, args, True),
               cuda_api_sum=lambda db, args: by_call(db, 'CUPTI_ACTIVITY_KIND_RUNTIME', strip=True),
               osrt_sum=lambda db, args: by_call(db, 'OSRT_API', only=lambda r: r['eventClass'] == 27),
               syscall_sum=lambda db, args: by_call(db, 'SYSCALL'))


def main():
    name, *args = sys.argv[2].split(':')
    rows = REPORTS[name](Database(sys.argv[1]), args)
    if sys.argv[3:] != ['csv']:
        json.dump(rows, sys.stdout)
        return
    out = csv.writer(sys.stdout, lineterminator='\n')
    out.writerow(rows[0])
    for r in rows:
        # nsys writes megabytes with three decimals, whatever they are.
        out.writerow(f'{v:.3f}' if isinstance(v, float) and '(MB' in k else v for k, v in r.items())


if __name__ == '__main__':
    main()
