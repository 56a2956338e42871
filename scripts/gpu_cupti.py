"""gpu_cupti.py - CUPTI of one toolkit compared with what is written down of it in preload/cupti/ (for scripts/gpu-table).

A program that includes NVIDIA's headers and ours makes the compiler say sizes, offsets and numbers, by both. Of the
records, those that a CUPTI of this version hands out: for each shape the newest structure that the headers have, which
must be the one that layout.def names for the version. The functions used must be exported, and take what they are given.
"""
import os
import re
import subprocess
import sys

CUPTI = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "preload", "cupti")

# NVIDIA's name, ours. What a version of the headers does not have is not compared.
NUMBERS = {
    "CUPTI_SUCCESS": "CUPTI_OK",
    "CUPTI_ERROR_NOT_INITIALIZED": "CUPTI_NOT_INITIALIZED",
    "CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED": "CUPTI_VIRTUALIZED",
    "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES": "CUPTI_INSUFFICIENT_PRIVILEGES",
    "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED": "CUPTI_TAKEN",
    "CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES": "CUPTI_VIRTUALIZED_PRIVILEGES",
    "CUPTI_ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED": "CUPTI_CONFIDENTIAL",
    "CUPTI_ERROR_CMP_DEVICE_NOT_SUPPORTED": "CUPTI_MINING",
    "CUPTI_ERROR_MIG_DEVICE_NOT_SUPPORTED": "CUPTI_MIG",
    "CUPTI_ERROR_SLI_DEVICE_NOT_SUPPORTED": "CUPTI_SLI",
    "CUPTI_ERROR_WSL_DEVICE_NOT_SUPPORTED": "CUPTI_WSL",
    "CUPTI_ERROR_UNKNOWN": "CUPTI_UNKNOWN",
    "CUPTI_ACTIVITY_KIND_KERNEL": "CUPTI_KIND_SERIAL_KERNEL",
    "CUPTI_ACTIVITY_FLAG_FLUSH_FORCED": "CUPTI_FLUSH_FORCED",
    "CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER": "CUPTI_ATTRIBUTE_ZEROED",
    "CUPTI_ACTIVITY_THREAD_ID_TYPE_DEFAULT": "CUPTI_THREAD_ID_DEFAULT",
    "CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM": "CUPTI_THREAD_ID_SYSTEM",
    "CUPTI_CB_DOMAIN_DRIVER_API": "CUPTI_DOMAIN_DRIVER",
    "CUPTI_CB_DOMAIN_RUNTIME_API": "CUPTI_DOMAIN_RUNTIME",
    "CUPTI_CB_DOMAIN_RESOURCE": "CUPTI_DOMAIN_RESOURCE",
    "CUPTI_ACTIVITY_OBJECT_THREAD": "CUPTI_OBJECT_THREAD",
    "CUPTI_ACTIVITY_MEMORY_POOL_TYPE_IMPORTED": "CUPTI_POOL_IMPORTED",
    "CUPTI_OLD_SUBSCRIBER_NAME_MIN_LEN": "CUPTI_SUBSCRIBER_NAME",
    "CUPTI_CBID_RESOURCE_GRAPH_CREATED": "CUPTI_RESOURCE_GRAPH_CREATED",
    "CUPTI_CBID_RESOURCE_GRAPH_CLONED": "CUPTI_RESOURCE_GRAPH_CLONED",
    "CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED": "CUPTI_RESOURCE_NODE_CREATED",
    "CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATED": "CUPTI_RESOURCE_EXEC_CREATED",
    "CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED": "CUPTI_RESOURCE_NODE_CLONED",
}
# Structures that are handed over both ways: NVIDIA's, ours, members by both names.
STRUCTURES = [
    ("CUpti_ResourceData", "cupti_resource_data", {"context": "context", "resourceDescriptor": "descriptor"}),
    ("CUpti_GraphData", "cupti_graph_data", {"graph": "graph", "originalGraph": "original_graph", "node": "node",
                                             "originalNode": "original_node", "nodeType": "node_type",
                                             "dependency": "dependency", "graphExec": "exec"}),
    ("CUpti_SubscriberParams", "cupti_subscriber", {"structSize": "bytes", "subscriberName": "name",
                                                    "oldSubscriberName": "taken_by", "oldSubscriberSize": "taken_bytes"}),
    ("CUpti_ActivityUnifiedMemoryCounterConfig", "cupti_um_counter", {"scope": "scope", "kind": "kind",
                                                                      "deviceId": "device", "enable": "on"}),
]


def lines(file, macro):
    """The arguments of each macro(...) in a table."""
    with open(os.path.join(CUPTI, file), encoding="utf-8") as f:
        return [[w.strip() for w in m.split(",")] for m in re.findall(rf"^{macro}\((.*)\)\s*$", f.read(), re.M)]


class Headers:
    def __init__(self, compiler, folders):
        top = os.path.dirname(os.path.dirname(CUPTI))
        self.command = compiler + ["-w", "-O0", "-I", top] + [w for f in folders for w in ("-idirafter", f)]
        self.source = "#include <stddef.h>\n#include <cuda.h>\n#include <cupti.h>\n"
        self.text = self.run(["-E", "-P", "-dD"], self.source)
        self.words = set(re.findall(r"\w+", self.text))
        self.version = int(re.search(r"#define CUPTI_API_VERSION (\d+)", self.text).group(1))

    def run(self, arguments, text):
        done = subprocess.run(self.command + arguments + ["-x", "c", "-o", "-", "-"], input=text, capture_output=True,
                              text=True)
        if done.returncode:
            sys.exit(f"gpu-table: cupti.h: {done.stderr[:2000]}")
        return done.stdout

    def values(self, expressions):
        """The numbers that the compiler finds for them."""
        body = "".join(f'__asm__ volatile("#SL {i} %c0" :: "i"((long)({e})));\n' for i, e in enumerate(expressions))
        assembly = self.run(["-S"], f'{self.source}#include "preload/cupti/api.h"\nvoid f(void) {{\n{body}}}\n')
        found = {int(m.group(1)): int(m.group(2)) for m in re.finditer(r"#SL (\d+) (-?\d+)", assembly)}
        return [found[i] for i in range(len(expressions))]


def generation(name):
    base, number = re.match(r"(.*?)(\d*)$", name).groups()
    return base, int(number or 1)


def compare_structure(headers, shape, version, size, name):
    """[(what, NVIDIA's expression, ours)] of a structure, as records of @version are read."""
    theirs = f"CUpti_Activity{name}"
    pairs = [(theirs, f"sizeof({theirs})", size)]
    for _, _, offset, width, since, member in (f for f in lines("layout.def", "FIELD") if f[0] == shape):
        # One version may have two sizes; what the smaller one lacks is behind its end.
        if int(since) < version or (int(since) == version and int(offset) + int(width) <= int(size)):
            pairs.append((f"offset of {name}.{member}", f"offsetof({theirs}, {member})", offset))
            pairs.append((f"size of {name}.{member}", f"sizeof((({theirs} *)0)->{member})", width))
    return pairs


def compare_records(headers):
    """(complaints, [(what, NVIDIA's expression, ours)])"""
    wrong, pairs = [], []
    structs = [(shape, int(version), size, name) for shape, version, size, name in lines("layout.def", "STRUCT")]
    for shape in dict.fromkeys(s[0] for s in structs):
        known = [s for s in structs if s[0] == shape and s[1] <= headers.version]
        if not known:
            continue
        base, _ = generation(known[0][3])
        there = [int(n or 1) for n in re.findall(rf"\bCUpti_Activity{base}(\d*)\b", headers.text)]
        # Some versions of the API have two.
        newest = max(s[1] for s in known)
        fitting = [s for s in known if s[1] == newest and there and generation(s[3])[1] == max(there)]
        _, _, size, name = (fitting or known)[-1]
        if not fitting:
            newest = f"CUpti_Activity{base}{max(there) if there and max(there) > 1 else ''}" if there else "no such structure"
            wrong.append(f"{shape}: layout.def says CUpti_Activity{name}, the headers have {newest}")
            continue
        pairs += compare_structure(headers, shape, headers.version, size, name)
        # Older ones, where the headers still have them, end before the fields of newer versions.
        for _, version, size, name in known:
            if (shape, version, size, name) != (fitting or known)[-1] and f"CUpti_Activity{name}" in headers.words:
                pairs += compare_structure(headers, shape, version, size, name)
    return wrong, pairs


def compare_numbers(headers):
    """(complaints, [(what, NVIDIA's expression, ours)], [name that this version lacks])"""
    wrong, pairs, absent = [], [], []
    kinds = [(f"CUPTI_ACTIVITY_KIND_{name}", number) for name, number, version, _, _ in lines("layout.def", "KIND")
             if int(version) <= headers.version]
    wrong += [f"{theirs}: not in these headers" for theirs, _ in kinds if theirs not in headers.words]
    calls = [(f"CUPTI_{domain}_TRACE_CBID_", number, name) for domain, number, name in lines("queries.def", "(?:ROW_)?QUERY")]
    there = {}
    for prefix, name, number in re.findall(r"\b(CUPTI_[A-Z]+_TRACE_CBID_)(\w+)\s*=\s*(\d+)\b", headers.text):
        there.setdefault((prefix, number), []).append(name)
    for prefix, number, name in calls:
        # No version may have given the number to another call.
        for other in there.get((prefix, number), []):
            if other != name:
                wrong.append(f"{prefix}{name}: {number} is {other} in these headers")
    names = kinds + [(prefix + name, number) for prefix, number, name in calls]
    for theirs, ours in names + list(NUMBERS.items()):
        if theirs in headers.words:
            pairs.append((theirs, theirs, ours))
        else:
            absent.append(theirs)
    for theirs, ours, members in STRUCTURES:
        if theirs not in headers.words:
            absent.append(theirs)
            continue
        for a, b in members.items():
            if a in headers.words:
                pairs.append((f"{theirs}.{a}", f"offsetof({theirs}, {a})", f"offsetof(struct {ours}, {b})"))
            else:
                absent.append(f"{theirs}.{a}")
    return wrong, pairs, absent


def letter(parameter):
    if "*" in parameter:
        return "p"
    return "z" if re.match(r"(size_t|uint64_t)\b", parameter) else "i"


def compare_functions(headers, exported, prototypes):
    """@prototypes: of functions by name, with an abi as in the tables of other libraries."""
    wrong, absent = [], []
    with open(os.path.join(CUPTI, "functions.def"), encoding="utf-8") as f:
        functions = re.findall(r"^CUPTI\((\d), (\w+), \((.*)\)\)$", f.read(), re.M)
    found = prototypes({f"cupti{name}" for _, name, _ in functions})
    for needed, name, parameters in functions:
        name = f"cupti{name}"
        abi = "i" + "".join(letter(p.strip()) for p in parameters.split(","))
        if name in found and found[name].abi != abi:
            wrong.append(f'{name}: functions.def says "{abi}", the header "{found[name].abi}"')
        if exported and name not in exported:
            if int(needed):
                wrong.append(f"{name}: needed, but libcupti does not have it")
            else:
                absent.append(name)
    return wrong, absent


def check(folders, exported, compiler, prototypes, verbose):
    """Prints what is wrong; returns (how much that is, names that this version lacks)."""
    if not any(os.path.exists(os.path.join(f, "cupti.h")) for f in folders):
        print("cupti: no cupti.h: not compared")
        return 0, None
    headers = Headers(compiler, folders)
    wrong, pairs = compare_records(headers)
    complaints, numbers, absent = compare_numbers(headers)
    wrong += complaints
    pairs += numbers
    values = headers.values([p[1] for p in pairs] + [p[2] for p in pairs])
    for (what, _, _), theirs, ours in zip(pairs, values, values[len(pairs):]):
        if theirs != ours:
            wrong.append(f"{what}: {theirs}, not {ours}")
    complaints, missing = compare_functions(headers, exported, prototypes)
    wrong += complaints
    for complaint in wrong:
        print(f"cupti: {complaint}")
    print(f"cupti: API {headers.version}: {len(wrong)} complaints" if wrong else
          f"cupti: API {headers.version}: {len(pairs)} offsets, sizes and numbers agree with the headers"
          + ("" if exported else "; libcupti is not installed"))
    if verbose:
        for name in absent + missing:
            print(f"cupti: {name}: not in this version")
    return len(wrong), set(absent + missing)
