/** The result of every call, from whatever server. */
export const result = { content: [{ type: 'text', text: 'hello from far away' }] };

/** The answer to a request that the server does not know, `server/discover` for one. */
export const unknown = { code: -32601, message: 'no such method' };

/** The server's description of itself. */
export const identity = {
  protocolVersion: '2025-11-25',
  capabilities: { tools: {} },
  serverInfo: { name: 'bench', version: '1' },
};
