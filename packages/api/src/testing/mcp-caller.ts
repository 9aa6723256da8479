/** What a server answered to one request. */
interface McpAnswer {
  status: number;
  text: string;
  headers: Headers;
  result: Record<string, unknown>;
  error: { code: number; message: string } | undefined;
}

/** A client of one endpoint that sends what a test says, and reads whatever is answered. */
export interface McpCaller {
  ask(method: string, params?: Record<string, unknown>): Promise<McpAnswer>;
  /** The same, as soon as the server begins to answer. */
  open(method: string, params?: Record<string, unknown>): Promise<Response>;
  notify(method: string, params?: Record<string, unknown>): Promise<number>;
  /** Ends the session. */
  end(): Promise<number>;
  session(): string | undefined;
}

type Version = '2025-11-25' | '2026-07-28';

export interface McpCallerOptions {
  version?: Version;
  name?: string;
  headers?: Record<string, string>;
}

/** Makes a client. Of the older generation, it has to send `initialize` itself. */
export function mcpCaller(
  url: string,
  { version = '2025-11-25', name = 'test', headers: more = {} }: McpCallerOptions = {},
): McpCaller {
  const isModern = version === '2026-07-28';
  const headers: Record<string, string> = {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    'mcp-protocol-version': version,
    ...more,
  };
  let id = 0;
  const send = async (message: Record<string, unknown>): Promise<Response> => {
    const { method, params } = message as { method: string; params: Record<string, unknown> };
    const item = params['name'] ?? params['uri'];
    const response = await fetch(url, {
      method: 'POST',
      headers: {
        ...headers,
        ...(isModern ? { 'mcp-method': method } : {}),
        ...(isModern && typeof item === 'string' ? { 'mcp-name': item } : {}),
      },
      body: JSON.stringify({ jsonrpc: '2.0', ...message }),
    });
    const session = response.headers.get('mcp-session-id');
    if (session !== null) headers['mcp-session-id'] = session;
    return response;
  };
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': version,
    'io.modelcontextprotocol/clientCapabilities': {},
    'io.modelcontextprotocol/clientInfo': { name, version: '1' },
  };
  const open: McpCaller['open'] = (method, params = {}) => {
    const given =
      method === 'initialize'
        ? { protocolVersion: version, capabilities: {}, clientInfo: { name, version: '1' }, ...params }
        : isModern
          ? { ...params, _meta: { ..._meta, ...(params['_meta'] as object | undefined) } }
          : params;
    return send({ id: ++id, method, params: given });
  };
  return {
    open,
    async ask(method, params) {
      const response = await open(method, params);
      const text = await response.text();
      const data = /^data: (\{.*)$/m.exec(text)?.[1] ?? text;
      const isJson = data.startsWith('{');
      const { result = {}, error } = (isJson ? JSON.parse(data) : {}) as Partial<McpAnswer>;
      return { status: response.status, text, headers: response.headers, result, error };
    },
    async notify(method, params = {}) {
      return (await send({ method, params })).status;
    },
    end: async () => (await fetch(url, { method: 'DELETE', headers })).status,
    session: () => headers['mcp-session-id'],
  };
}
