"""mcp_client.py SIGHTLINE SCHEMAS FOLDER [--allow-run] - all tools of `sightline mcp` on every report below FOLDER, in both eras: each
answer meets its schema and has at most 6,000 characters. A line with the numbers; status 1 after one line for each fault."""
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from schema import faults  # noqa: E402

META = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}
SCHEMA_OF = {"reports": "mcp_reports", "summary": "info", "why": "mcp_text", "lists": "why", "findings": "mcp_findings", "table": "table",
             "compare": "compare", "source": "mcp_source", "sql": "table", "record": "mcp_record"}


class Server:
    def __init__(self, sightline, *args):
        self.process = subprocess.Popen([sightline, "mcp", *args], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.id = 0

    def ask(self, method, params=None, modern=False):
        self.id += 1
        params = dict(params or {}, **({"_meta": META} if modern else {}))
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", "id": self.id, "method": method, "params": params}).encode() + b"\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        assert answer["id"] == self.id, answer
        return answer

    def call(self, tool, modern=False, **arguments):
        result = self.ask("tools/call", {"name": tool, "arguments": arguments}, modern)["result"]
        return result["content"][0]["text"], result["isError"]

    def close(self):
        self.process.stdin.close()
        return self.process.wait(timeout=60)


def main(sightline, schemas, folder, *options):
    server = Server(sightline, folder, *options)
    bad, cnt, longest = [], 0, 0

    def check(tool, schema, modern, **arguments):
        nonlocal cnt, longest
        text, is_error = server.call(tool, modern, **arguments)
        cnt += 1
        longest = max(longest, len(text))
        if is_error:
            bad.append(f"{tool} {arguments}: {text}")
            return {}
        answer = json.loads(text)
        with open(os.path.join(schemas, SCHEMA_OF[schema] + ".json"), encoding="utf-8") as f:
            bad.extend(f"{tool} {arguments}: {fault}" for fault in faults(answer, json.load(f)))
        if len(text) > 6000:
            bad.append(f"{tool} {arguments}: {len(text)} characters")
        return answer

    server.ask("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}})
    for modern in (False, True):
        reports = [r["report"] for r in check("reports", "reports", modern)["reports"]]
        for report in reports:
            check("summary", "summary", modern, report=report)
            check("why", "why", modern, report=report)
            lists = check("why", "lists", modern, report=report, limit=2)
            check("findings", "findings", modern, report=report)
            check("table", "table", modern, report=report, table="osrt_sum")
            check("table", "table", modern, report=report, table="cuda_gpu_kern_sum", limit=2)
            check("compare", "compare", modern, base=report, report=report)
            check("sql", "sql", modern, report=report, statement="SELECT name FROM sqlite_master")
            place = next((c["place"] for c in lists.get("culprits", []) if c.get("line")), "a.c:1")
            check("source", "source", modern, report=report, place=place)
    if "--allow-run" in options:
        check("record", "record", False, command=["sh", "-c", "echo hello"], name="made", seconds=20)
        check("why", "why", True, report="made.sqlite")
    status = server.close()
    print(f"{cnt} answers, {len(bad)} faults, exit status {status}")
    print(f"longest: {longest}", file=sys.stderr)
    for line in bad[:20]:
        print(line)
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
