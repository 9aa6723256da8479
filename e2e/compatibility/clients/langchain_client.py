import asyncio
import json
import sys

from langchain_mcp_adapters.callbacks import Callbacks
from langchain_mcp_adapters.client import MultiServerMCPClient
from mcp.types import ElicitResult


async def main(url):
    progress = []

    async def report(done, total, message, context):
        progress.append(done)

    async def elicit(mcp_context, params, context):
        return ElicitResult(action="accept", content={"response": "an answer"})

    client = MultiServerMCPClient(
        {"server": {"transport": "streamable_http", "url": url}},
        callbacks=Callbacks(on_progress=report, on_elicitation=elicit),
    )
    tools = {tool.name: tool for tool in await client.get_tools()}

    async def call(name, given=None):
        result = await tools[name].ainvoke(given or {})
        return result if isinstance(result, str) else result[0]["text"]

    await call("test_tool_with_progress")
    observed = {
        "tools": list(tools),
        "text": await call("test_simple_text"),
        "progress": list(progress),
        "error": await call("test_error_handling"),
        "elicitation": await call("test_elicitation", {"message": "What is it?"}),
    }
    print(json.dumps(observed))


asyncio.run(main(sys.argv[1]))
