"""mcp_official.py SIGHTLINE FOLDER - the official client (PyPI: mcp) calls all tools on every report below FOLDER, in both eras."""
import asyncio
import json
import sys

from mcp import Client, StdioServerParameters, stdio_client


async def era(mode, sightline, folder):
    cnt = 0
    async with Client(stdio_client(StdioServerParameters(command=sightline, args=["mcp", folder])), mode=mode) as client:
        tools = {tool.name for tool in (await client.list_tools()).tools}
        assert tools == {"reports", "summary", "why", "findings", "table", "compare", "source", "sql"}, tools

        async def call(name, **arguments):
            nonlocal cnt
            result = await client.call_tool(name, arguments)
            assert not result.is_error, (name, arguments, result.content[0].text)
            cnt += 1
            return json.loads(result.content[0].text)

        for report in [r["report"] for r in (await call("reports"))["reports"]]:
            for name, arguments in (("summary", {}), ("why", {}), ("findings", {}), ("table", {"table": "osrt_sum"}),
                                    ("compare", {"base": report}), ("source", {"place": "a.c:1"}), ("sql", {"statement": "SELECT 1"})):
                await call(name, report=report, **arguments)
        wrong = await client.call_tool("why", {"reprot": "x"})
        assert wrong.is_error and "did you mean 'report'" in wrong.content[0].text, wrong
    return cnt


if __name__ == "__main__":
    for MODE in ("legacy", "auto", "2026-07-28"):
        print(MODE, asyncio.run(era(MODE, *sys.argv[1:])), "answers")
