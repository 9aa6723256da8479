/** The result of every call, from whatever server. */
export const result = { content: [{ type: 'text', text: 'hello from far away' }] };

/** What a server says of itself. */
export const identity = {
  protocolVersion: '2025-11-25',
  capabilities: { tools: {} },
  serverInfo: { name: 'bench', version: '1' },
};
