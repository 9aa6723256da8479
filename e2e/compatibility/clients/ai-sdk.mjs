import { createMCPClient } from '@ai-sdk/mcp';
import { ElicitationRequestSchema } from '@ai-sdk/mcp';

const client = await createMCPClient({
  transport: { type: 'http', url: process.argv[2] },
  capabilities: { elicitation: {} },
});
client.onElicitationRequest(ElicitationRequestSchema, () => ({
  action: 'accept',
  content: { response: 'an answer' },
}));

const tools = await client.tools();
const call = async (name, given = {}) => {
  const { content } = await tools[name].execute(given, { toolCallId: name, messages: [] });
  return content[0].text;
};
process.stdout.write(
  JSON.stringify({
    tools: Object.keys(tools),
    text: await call('test_simple_text'),
    error: await call('test_error_handling').catch(({ message }) => message),
    elicitation: await call('test_elicitation', { message: 'What is it?' }),
  }),
);
await client.close();
