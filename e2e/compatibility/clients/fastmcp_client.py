import asyncio
import json
import sys

from fastmcp import Client
from fastmcp.client.elicitation import ElicitResult


async def sample(messages, params, context):
    return "a completion"


async def elicit(message, response_type, params, context):
    return ElicitResult(action="accept", content={"response": "an answer"})


async def main(url):
    async with Client(url, sampling_handler=sample, elicitation_handler=elicit) as client:
        progress = []

        async def report(done, total, message):
            progress.append(done)

        async def call(name, given=None, **options):
            result = await client.call_tool(name, given or {}, raise_on_error=False, **options)
            return result.content[0].text

        tools = await client.list_tools()
        await call("test_tool_with_progress", progress_handler=report)
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
