import { MCPServerStreamableHttp } from '@openai/agents';

const server = new MCPServerStreamableHttp({ url: process.argv[2], name: 'compatibility' });
await server.connect();
const call = async (name) => (await server.callToolResult(name, {})).content[0].text;
process.stdout.write(
  JSON.stringify({
    tools: (await server.listTools()).map(({ name }) => name),
    text: await call('test_simple_text'),
    error: await call('test_error_handling').catch(({ message }) => message),
  }),
);
await server.close();
