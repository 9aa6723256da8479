import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { CreateMessageRequestSchema, ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';

// mcp-remote is a program that carries the messages of a stdio client to a URL.
const client = new Client(
  { name: 'compatibility', version: '1.0.0' },
  { capabilities: { sampling: {}, elicitation: {} } },
);
client.setRequestHandler(CreateMessageRequestSchema, () => ({
  model: 'test',
  role: 'assistant',
  content: { type: 'text', text: 'a completion' },
}));
client.setRequestHandler(ElicitRequestSchema, () => ({
  action: 'accept',
  content: { response: 'an answer' },
}));
await client.connect(
  new StdioClientTransport({
    command: 'node_modules/.bin/mcp-remote',
    args: [process.argv[2]],
    env: process.env,
  }),
);

const call = async (name, given = {}, options = {}) => {
  const { content } = await client.callTool({ name, arguments: given }, undefined, options);
  return content[0].text;
};
const { tools } = await client.listTools();
const progress = [];
await call('test_tool_with_progress', {}, { onprogress: (step) => progress.push(step.progress) });
process.stdout.write(
  JSON.stringify({
    tools: tools.map(({ name }) => name),
    text: await call('test_simple_text'),
    progress,
    error: await call('test_error_handling'),
    elicitation: await call('test_elicitation', { message: 'What is it?' }),
    sampling: await call('test_sampling', { prompt: 'Complete this.' }),
  }),
);
await client.close();
