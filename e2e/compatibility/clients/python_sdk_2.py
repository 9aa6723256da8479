import asyncio
import json
import sys

from mcp import Client
from mcp.types import CreateMessageResult, ElicitResult, TextContent


async def sample(context, params):
    content = TextContent(type="text", text="a completion")
    return CreateMessageResult(role="assistant", model="test", content=content)


async def elicit(context, params):
    return ElicitResult(action="accept", content={"response": "an answer"})


async def main(url):
    async with Client(url, sampling_callback=sample, elicitation_callback=elicit) as client:
        progress = []

        async def report(done, total, message):
            progress.append(done)

        async def call(name, given=None, **options):
            return (await client.call_tool(name, given or {}, **options)).content[0].text

        tools = (await client.list_tools()).tools
        await call("test_tool_with_progress", progress_callback=report)
        observed = {
            "tools": [tool.name for tool in tools],
            "text": await call("test_simple_text"),
            "progress": progress,
            "error": await call("test_error_handling"),
            "elicitation": await call("test_elicitation", {"message": "What is it?"}),
            "sampling": await call("test_sampling", {"prompt": "Complete this."}),
        }
        print(json.dumps(observed))


asyncio.run(main(sys.argv[1]))
