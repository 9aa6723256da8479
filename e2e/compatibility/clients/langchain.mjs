import { MultiServerMCPClient } from '@langchain/mcp-adapters';

const client = new MultiServerMCPClient({
  mcpServers: { server: { transport: 'http', url: process.argv[2] } },
});
const tools = await client.getTools();
const call = async (name) => {
  const result = await tools.find((tool) => tool.name === name).invoke({});
  // A content block with metadata remains an object.
  return typeof result === 'string' ? result : result.text;
};
process.stdout.write(
  JSON.stringify({
    tools: tools.map(({ name }) => name),
    text: await call('test_simple_text'),
    error: await call('test_error_handling').catch(({ message }) => message),
  }),
);
await client.close();
