import asyncio
import json
import os
import sys

os.environ["MCP_USE_ANONYMIZED_TELEMETRY"] = "false"

from mcp.types import CreateMessageResult, ElicitResult, TextContent
from mcp_use import MCPClient


async def sample(context, params):
    content = TextContent(type="text", text="a completion")
    return CreateMessageResult(role="assistant", model="test", content=content)


async def elicit(context, params):
    return ElicitResult(action="accept", content={"response": "an answer"})


async def main(url):
    client = MCPClient(
        {"mcpServers": {"server": {"url": url}}}, sampling_callback=sample, elicitation_callback=elicit
    )
    session = await client.create_session("server")

    async def call(name, given=None):
        return (await session.call_tool(name, given or {})).content[0].text

    observed = {
        "tools": [tool.name for tool in await session.list_tools()],
        "text": await call("test_simple_text"),
        "error": await call("test_error_handling"),
        "elicitation": await call("test_elicitation", {"message": "What is it?"}),
        "sampling": await call("test_sampling", {"prompt": "Complete this."}),
    }
    await client.close_all_sessions()
    print(json.dumps(observed))


asyncio.run(main(sys.argv[1]))
