import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';

// Without a revision, the library negotiates as it does by default.
const [, , url, revision] = process.argv;
const client = new Client(
  { name: 'compatibility', version: '1.0.0' },
  {
    capabilities: { sampling: {}, elicitation: {} },
    ...(revision === undefined ? {} : { versionNegotiation: { mode: { pin: revision } } }),
  },
);
client.setRequestHandler('sampling/createMessage', () => ({
  model: 'test',
  role: 'assistant',
  content: { type: 'text', text: 'a completion' },
}));
client.setRequestHandler('elicitation/create', () => ({
  action: 'accept',
  content: { response: 'an answer' },
}));
await client.connect(new StreamableHTTPClientTransport(new URL(url)));

const call = async (name, given = {}, options = {}) => {
  const { content } = await client.callTool({ name, arguments: given }, options);
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
