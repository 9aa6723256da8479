// Usage: toolhive-conformance legacy|modern stdio|http. Over HTTP it listens on MCP_PORT.
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { serveHttp } from './http.ts';
import { legacyServer } from './legacy.ts';
import { modernServer } from './modern.ts';

const [era, transport] = process.argv.slice(2);
if ((era !== 'legacy' && era !== 'modern') || (transport !== 'stdio' && transport !== 'http')) {
  throw new Error('usage: toolhive-conformance legacy|modern stdio|http');
}
if (transport === 'http') {
  await serveHttp(era, {
    host: process.env['MCP_HOST'] ?? '127.0.0.1',
    port: Number(process.env['MCP_PORT'] ?? 0),
  });
} else if (era === 'legacy') {
  await legacyServer().connect(new StdioServerTransport());
} else {
  serveStdio(() => modernServer(), { legacy: 'reject' });
}
