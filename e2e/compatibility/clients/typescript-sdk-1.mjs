import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { CreateMessageRequestSchema, ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';

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
await client.connect(new StreamableHTTPClientTransport(new URL(process.argv[2])));

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
