#!/usr/bin/env python3
"""host_truth.py COMMAND... - an independent reader of what host counters are made from.

  run ROOT SECONDS CGROUP attached|profiled -- SIGHTLINE...  writes files of a fake root step by step while the command runs, and logs each step to ROOT.log
  check ROOT REPORT [WITHOUT...]    compares every sample of the report with the steps
  real REPORT -- SIGHTLINE...       reads this machine's own files beside the command, and compares sums of the kernel's

A step's files are written in place, so that descriptors see them. What a sum is worth at a step is known here as a number that only
grows; the file has it wrapped, or begun again.
"""
import json
import os
import sqlite3
import subprocess
import sys
import threading
import time

TICK = 1e9 / os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGESIZE")
RANGE = 262143328850  # of a RAPL counter, microjoules
STEP_S = 0.12


def n(x):
    return f"{int(x):20d}"


def model(k):
    """What is true at step k: {(scope, number or name, counter): value}; sums as they grow."""
    v = {}
    for core in (0, 1, 3):
        v["core", core, "CPU Busy"] = TICK * (100 + 7 * k + core * k) * 3
    v["host", None, "CPU User"] = TICK * (1000 + 20 * k)
    v["host", None, "CPU System"] = TICK * (500 + 9 * k)
    v["host", None, "CPU Idle"] = TICK * (9000 + 11 * k)
    v["host", None, "CPU I/O Wait"] = TICK * (70 + 2 * k)
    v["host", None, "CPU Steal"] = TICK * (3 + k)
    v["host", None, "Context Switches"] = 123456 + 977 * k
    v["host", None, "Threads Running"] = 1 + k % 5
    v["host", None, "Threads Blocked"] = k % 3
    v["host", None, "Memory Total"] = 1024 * 24684098
    v["host", None, "Memory Free"] = 1024 * (10000000 - 1111 * k)
    v["host", None, "Memory Available"] = 1024 * (20000000 - 2111 * k)
    v["host", None, "Memory Dirty"] = 1024 * (77 * (k % 9))
    v["host", None, "Swapped In"] = PAGE * (5 + 3 * k)
    v["host", None, "Swapped Out"] = PAGE * (6 + 4 * k)
    v["host", None, "Major Page Faults"] = 900 + 13 * k
    v["host", None, "OOM Kills"] = k // 10
    v["host", None, "CPU Pressure Some"] = 1000 * (11000 + 1001 * k)
    v["host", None, "Memory Pressure Some"] = 1000 * (12000 + 2002 * k)
    v["host", None, "Memory Pressure Full"] = 1000 * (13000 + 1503 * k)
    v["host", None, "I/O Pressure Some"] = 1000 * (14000 + 4004 * k)
    v["host", None, "I/O Pressure Full"] = 1000 * (15000 + 3005 * k)
    v["disk", "sda", "Disk Read"] = 512 * (8000 + 64 * k)
    v["disk", "sda", "Disk Written"] = 512 * (4000 + 128 * k)
    v["disk", "sda", "Disk Busy"] = 1e6 * (2**32 - 300 + 60 * k)  # wraps at step 5
    v["disk", "nvme0n1", "Disk Read"] = 512 * (1 + 3 * k)
    v["nic", "eth0", "Network Received"] = 10**12 + 5555 * k
    v["nic", "eth0", "Network Sent"] = 7 * 10**11 + 3333 * k
    v["nic", "eth0", "Packets Dropped"] = 4 + 2 * k
    v["nic", "ib0", "Network Received"] = 9000 * (k if k < 8 else k - 1)  # begins again at step 8, from 0
    v["nic", "mlx5_0/1", "Network Received"] = 4 * (100 + 7 * k)
    v["package", 0, "CPU Energy"] = 1e-6 * (RANGE - 700000 + 100000 * k)  # wraps at step 8
    v["core", 0, "CPU Clock"] = 1000 * (2000000 + 1000 * (k % 7))
    v["core", 4, "CPU Clock"] = 1000 * (2100000 + 1000 * (k % 5))
    v["cgroup", "/job", "Memory Used"] = 10**9 + 4096 * k
    v["cgroup", "/job", "Memory Limit"] = 2 * 10**9
    v["cgroup", "/job", "Memory Limit Hits"] = 3 + k
    v["cgroup", "/job", "OOM Kills"] = k // 12
    v["cgroup", "/job", "CPU Throttled Periods"] = 10 + 2 * k
    v["cgroup", "/job", "CPU Periods"] = 20 + 5 * k
    v["cgroup", "/job", "CPU Throttled"] = 1000 * (55 + 21 * k)
    v["cgroup", "/job", "CPU Limit"] = 1.5
    v["cgroup", "/job/step", "Disk Read"] = 700 + 9 * k
    v["cgroup", "/job/step", "Disk Written"] = 1700 + 19 * k
    v["cgroup", "/job/step", "Memory Pressure Full"] = 1000 * (33 + 17 * k)
    return v


def put(files, path, text):
    files[path] = text + "\n"


def texts(k, version, pid):
    v, f = model(k), {}
    t = lambda *key: n(round(v[key] / TICK))
    # A core goes away for some steps; garbage stands between.
    lines = [f"cpu {t('host', None, 'CPU User')} 0 {t('host', None, 'CPU System')} {t('host', None, 'CPU Idle')} "
             f"{t('host', None, 'CPU I/O Wait')} 0 0 {t('host', None, 'CPU Steal')} 0 0"]
    for core in (0, 1, 3):
        busy = round(v["core", core, "CPU Busy"] / TICK / 3)
        line = f"cpu{core} {n(busy)} {n(busy)} {n(busy)} {n(5)} {n(0)} {n(0)} {n(0)} {n(0)} 0 0"
        lines.append("x" * len(line) if core == 3 and 4 <= k < 8 else line)
    lines += ["cpu99999999999999999999 1 2 3 4 5 6 7 8", "cpu7 -1 2", "intr 1 2 3", f"ctxt {t2(v, 'Context Switches')}",
              "", f"procs_running {t2(v, 'Threads Running')}", f"procs_blocked {t2(v, 'Threads Blocked')}", "cpu5"]
    put(f, "proc/stat", "\n".join(lines))
    kb = lambda name: n(v["host", None, name] / 1024)
    put(f, "proc/meminfo", f"MemTotal: {kb('Memory Total')} kB\nMemFree: {kb('Memory Free')} kB\nMemAvailable: "
        f"{kb('Memory Available')} kB\nCached: none kB\nDirty: {kb('Memory Dirty')} kB\nMemFree: 17 kB")
    pages = lambda name: n(v["host", None, name] / PAGE)
    put(f, "proc/vmstat", f"nr_free_pages 1\npswpin {pages('Swapped In')}\npswpout {pages('Swapped Out')}\npgmajfault "
        f"{t2(v, 'Major Page Faults')}\noom_kill {t2(v, 'OOM Kills')}")
    psi = lambda kind, word: f"avg10=0.00 avg60=0.00 avg300=0.00 total={int(v['host', None, kind + ' Pressure ' + word] / 1000):015d}"
    put(f, "proc/pressure/cpu", f"some {psi('CPU', 'Some')}\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=5")
    put(f, "proc/pressure/memory", f"some {psi('Memory', 'Some')}\nfull {psi('Memory', 'Full')}")
    put(f, "proc/pressure/io", f"some {psi('I/O', 'Some')}\nfull {psi('I/O', 'Full')}")
    disk = lambda name: (f"{n(1)} {n(0)} {n(v['disk', name, 'Disk Read'] / 512)} {n(0)} {n(1)} {n(0)} "
                         f"{n(v.get(('disk', name, 'Disk Written'), 0) / 512)} {n(0)} {n(0)} "
                         f"{n(v.get(('disk', name, 'Disk Busy'), 0) / 1e6 % 2**32)} {n(0)}")
    put(f, "proc/diskstats", f"   8 0 sda {disk('sda')}\n   8 1 sda1 {disk('sda')}\n 259 0 nvme0n1 {disk('nvme0n1')}\n"
        f" 259 1 nvme0n1p1 {disk('nvme0n1')}\n   7 0 loop0 {disk('sda')}\n 253 0 dm-0 {disk('sda')}\n"
        f"   8 16 ../../etc {disk('sda')}\n   8 32 {'z' * 200} {disk('sda')}\nnonsense\n   8 48 sdb 1 2 3")
    nic = lambda i, o, drop: f"{n(i)} 5 0 {n(drop)} 0 0 0 0 {n(o)} 6 0 0 0 0 0 0"
    ib0 = 9000 * (k if k < 8 else k - 8)
    put(f, "proc/net/dev", "Inter-| Receive\n face |bytes\n    lo: " + nic(99 * k, 99 * k, 0) + "\n  eth0: " +
        nic(v["nic", "eth0", "Network Received"], v["nic", "eth0", "Network Sent"], v["nic", "eth0", "Packets Dropped"]) +
        "\n  ib0: " + nic(ib0, 0, 0) + "\n down0: " + nic(0, 0, 0) + "\n: 1 2 3\n eth9: 1 2")
    put(f, "sys/class/infiniband/mlx5_0/ports/1/counters/port_rcv_data", n(v["nic", "mlx5_0/1", "Network Received"] / 4))
    put(f, "sys/class/powercap/intel-rapl:0/name", "package-0")
    put(f, "sys/class/powercap/intel-rapl:0/max_energy_range_uj", str(RANGE))
    put(f, "sys/class/powercap/intel-rapl:0/energy_uj", n(round(v["package", 0, "CPU Energy"] * 1e6) % (RANGE + 1)))
    put(f, "sys/class/powercap/intel-rapl:1/name", "psys")
    put(f, "sys/devices/system/cpu/cpufreq/policy0/scaling_cur_freq", n(v["core", 0, "CPU Clock"] / 1000))
    put(f, "sys/devices/system/cpu/cpufreq/policy4/scaling_cur_freq", n(v["core", 4, "CPU Clock"] / 1000))
    cgroup(f, v, version, pid)
    return f


def t2(v, name):
    return n(v["host", None, name])


def cgroup(f, v, version, pid):
    g = lambda name: v["cgroup", "/job", name]
    s = lambda name: v["cgroup", "/job/step", name]
    if version == 2:
        # A container without a namespace of its own: /docker/abc is the part that is mounted.
        put(f, f"proc/{pid}/cgroup", "0::/docker/abc/job/step")
        put(f, "proc/self/mountinfo", "30 23 0:27 / /proc rw - proc proc rw\n31 23 0:28 /docker/abc /sys/fs/c\\040group rw - cgroup2 cgroup rw")
        top = "sys/fs/c group"
        for d in ("", "/job", "/job/step"):
            put(f, f"{top}{d}/cgroup.type", "domain")
            put(f, f"{top}{d}/memory.max", "max" if d != "/job" else n(g("Memory Limit")))
            put(f, f"{top}{d}/cpu.max", "max 100000" if d != "/job" else "150000 100000")
        put(f, f"{top}/job/memory.current", n(g("Memory Used")))
        put(f, f"{top}/job/memory.events", f"low 0\nhigh 0\nmax {n(g('Memory Limit Hits'))}\noom 0\noom_kill {n(g('OOM Kills'))}")
        put(f, f"{top}/job/cpu.stat", f"usage_usec 5\nuser_usec 3\nnr_periods {n(g('CPU Periods'))}\nnr_throttled "
            f"{n(g('CPU Throttled Periods'))}\nthrottled_usec {n(g('CPU Throttled') / 1000)}")
        put(f, f"{top}/job/step/io.stat", f"8:0 rbytes={int(s('Disk Read')) - 300:015d} wbytes={int(s('Disk Written')):015d} rios=1 "
            "wios=1 dbytes=0 dios=0\n8:16 rbytes=300 wbytes=0 rios=1 wios=0")
        put(f, f"{top}/job/step/memory.pressure", "some avg10=0.00 total=1\nfull avg10=0.00 avg60=0.00 avg300=0.00 total="
            f"{int(s('Memory Pressure Full') / 1000):015d}")
        return
    put(f, f"proc/{pid}/cgroup", "5:blkio:/job/step\n4:memory:/job/step\n3:cpu,cpuacct:/job/step\n0::/")
    put(f, "proc/self/mountinfo", "".join(f"3{i} 23 0:28 / /sys/fs/cgroup/{c} rw shared:1 - cgroup cgroup rw,{c}\n"
                                          for i, c in enumerate(("memory", "cpu,cpuacct", "blkio"))) +
        "39 23 0:29 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw")
    m, c, b = ("sys/fs/cgroup/memory", "sys/fs/cgroup/cpu,cpuacct", "sys/fs/cgroup/blkio")
    put(f, f"{m}/job/step/memory.limit_in_bytes", "9223372036854771712")
    put(f, f"{m}/job/memory.limit_in_bytes", n(g("Memory Limit")))
    put(f, f"{m}/job/memory.usage_in_bytes", n(g("Memory Used")))
    put(f, f"{m}/job/memory.failcnt", n(g("Memory Limit Hits")))
    put(f, f"{m}/job/memory.oom_control", f"oom_kill_disable 0\nunder_oom 0\noom_kill {n(g('OOM Kills'))}")
    put(f, f"{c}/job/step/cpu.cfs_quota_us", "-1")
    put(f, f"{c}/job/cpu.cfs_quota_us", "150000")
    put(f, f"{c}/job/cpu.cfs_period_us", "100000")
    put(f, f"{c}/job/cpu.stat", f"nr_periods {n(g('CPU Periods'))}\nnr_throttled {n(g('CPU Throttled Periods'))}\nthrottled_time "
        f"{n(g('CPU Throttled'))}")
    put(f, f"{b}/job/step/blkio.throttle.io_service_bytes_recursive", f"8:0 Read {n(s('Disk Read') - 5)}\n8:0 Write "
        f"{n(s('Disk Written'))}\n8:0 Sync 3\n8:0 Total 9\n8:16 Read 5\nTotal 9")
    put(f, "sys/fs/cgroup/unified/cpu.stat", "usage_usec 777")


class Root:
    """The fake root: files are kept open and written in place."""

    def __init__(self, root, version, pid):
        self.root, self.version, self.pid, self.fds, self.log = root, version, pid, {}, []
        os.makedirs(f"{root}/sys/block/sda", exist_ok=True)
        os.makedirs(f"{root}/sys/block/nvme0n1", exist_ok=True)

    def step(self, k):
        begun = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        for path, text in texts(k, self.version, self.pid).items():
            if path not in self.fds:
                os.makedirs(os.path.dirname(f"{self.root}/{path}"), exist_ok=True)
                self.fds[path] = [os.open(f"{self.root}/{path}", os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o644), len(text)]
            fd, length = self.fds[path]
            assert length == len(text), (path, length, len(text))
            os.pwrite(fd, text.encode(), 0)
        self.log.append([k, begun, time.clock_gettime_ns(time.CLOCK_MONOTONIC)])


def run(root, seconds, version, attached, command):
    target = subprocess.Popen(["sleep", "60"]) if attached else None
    pid = target.pid if target else os.getpid()
    r = Root(root, version, pid)
    r.step(0)
    command = [c.replace("PID", str(pid)) for c in command]
    p = subprocess.Popen(command, env=dict(os.environ, SL_SYSROOT=root))
    k = 1
    while p.poll() is None:
        time.sleep(STEP_S)
        r.step(k)
        k += 1
        if target and k * STEP_S > seconds:
            target.kill()
            target.wait()
    with open(root + ".log", "w", encoding="utf-8") as out:
        json.dump(r.log, out)
    return p.returncode


def steps_at(log, ns):
    """Steps that a reading at that moment may have seen: it takes some time, as writing does."""
    slack = 3_000_000
    return [k for i, (k, begun, _) in enumerate(log) if begun <= ns + slack and
            (i + 1 == len(log) or log[i + 1][2] >= ns - slack)]


def check(root, report, without):
    with open(root + ".log", encoding="utf-8") as text:
        log = json.load(text)
    db = sqlite3.connect(report)
    zero = db.execute("SELECT systemClockNs FROM TARGET_INFO_SESSION_START_TIME").fetchone()[0]
    models = {k: model(k) for k, _, _ in log}
    bad, seen, samples = [], set(), 0
    for cid, scope, number, name, what, is_sum in db.execute("SELECT id, scope, scopeId, scopeName, name, isSum FROM SL_COUNTERS").fetchall():
        key = (scope, name if name and scope != "package" else number, what)
        rows = db.execute("SELECT timestamp, value FROM SL_COUNTER_SAMPLES WHERE counterId = ? ORDER BY 1", (cid,)).fetchall()
        if key not in models[0]:
            if scope in ("cgroup", "disk", "nic", "core") and key[1] not in {k[1] for k in models[0]}:
                bad.append(f"{key} is not known here")
            continue
        seen.add(key)
        if is_sum and (not rows or rows[0][1] is not None):
            bad.append(f"{key}: the first value of a sum must be NULL: {rows[:1]}")
        possible = None
        for ns, value in rows:
            at = {models[k][key] for k in steps_at(log, ns + zero)}
            samples += 1
            if not is_sum:
                fits = any(abs(x - value) < 1e-6 * max(1, x) for x in at)
            elif value is None:
                possible, fits = at, True
            else:
                reached = {x for x in at for p in possible if abs(x - p - value) < 1e-6 * max(1, x - p)}
                fits, possible = bool(reached), reached or at
            if not fits:
                bad.append(f"{key} at {ns}: {value}, one of {sorted(at)} expected")
    for key in models[0]:
        if key not in seen and key[0] not in without and key[2] not in without:
            bad.append(f"{key} has no counter")
    for line in bad[:20]:
        print(line)
    print(f"# {samples} samples of {len(seen)} counters, {len(log)} steps")
    return 1 if bad or samples < 200 else 0


REAL = {
    "Context Switches": ("/proc/stat", lambda t: int(t.split("\nctxt ")[1].split()[0])),
    "CPU User": ("/proc/stat", lambda t: TICK * sum(map(int, t.split()[1:3]))),
    "CPU Pressure Some": ("/proc/pressure/cpu", lambda t: 1000 * int(t.split("total=")[1].split()[0])),
    "I/O Pressure Full": ("/proc/pressure/io", lambda t: 1000 * int(t.split("full")[1].split("total=")[1].split()[0])),
    "Major Page Faults": ("/proc/vmstat", lambda t: int(t.split("\npgmajfault ")[1].split()[0])),
}


def real(report, command):
    """This machine's sums at a sample lie between what was read here before and after it."""
    log, over = {name: [] for name in REAL}, threading.Event()

    def reader():
        while not over.wait(0.02):
            for name, (path, of) in REAL.items():
                if os.path.exists(path):
                    before = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
                    with open(path, encoding="utf-8") as f:
                        value = of(f.read())
                    log[name].append((before, time.clock_gettime_ns(time.CLOCK_MONOTONIC), value))

    thread = threading.Thread(target=reader)
    thread.start()
    time.sleep(0.1)
    subprocess.run(command, check=True)
    time.sleep(0.1)
    over.set()
    thread.join()
    db, bad, samples = sqlite3.connect(report), [], 0
    zero = db.execute("SELECT systemClockNs FROM TARGET_INFO_SESSION_START_TIME").fetchone()[0]
    for name, readings in log.items():
        rows = db.execute("SELECT timestamp, value FROM SL_COUNTER_SAMPLES JOIN SL_COUNTERS ON id = counterId "
                          "WHERE scope = 'host' AND name = ? ORDER BY 1", (name,)).fetchall()
        slack = 2_000_000
        low = lambda ns: max((v for _, after, v in readings if after <= ns - slack), default=None)
        high = lambda ns: min((v for before, _, v in readings if before >= ns + slack), default=None)
        if not rows:
            bad += [f"{name}: no rows"] if readings else []
            continue
        start, total = rows[0][0] + zero, 0
        for ns, value in rows[1:]:
            total += value
            samples += 1
            least, most = low(ns + zero) - high(start), high(ns + zero) - low(start)
            if not least <= total + 1e-3 and total - 1e-3 <= most:
                bad.append(f"{name} at {ns}: {total} since the first, not within {least}..{most}")
    for line in bad[:20]:
        print(line)
    print(f"# {samples} samples between readings")
    return 1 if bad or not samples else 0


def main():
    a = sys.argv[1:]
    if a[0] == "run":
        i = a.index("--")
        return run(a[1], float(a[2]), int(a[3]), a[4] == "attached", a[i + 1:])
    if a[0] == "real":
        return real(a[1], a[a.index("--") + 1:])
    return check(a[1], a[2], a[3:])


sys.exit(main())
