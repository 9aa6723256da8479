// A server that answers as the echo server does, and floods the daemon once it is initialized: `node flood-server.ts KIND`.
import { once } from 'node:events';
import { serveEcho } from './echo-lines.ts';
import type { Flood } from './flooded.ts';

const kind = process.argv[2] as Flood;
const notification = {
  jsonrpc: '2.0',
  method: 'notifications/message',
  params: { level: 'info', data: 'x' },
};
const pieces: Record<Exclude<Flood, 'none'>, string> = {
  'invalid lines': 'x\n'.repeat(32 * 1024),
  notifications: `${JSON.stringify(notification)}\n`.repeat(1_000),
  'large messages': `${JSON.stringify({ ...notification, params: { data: Array.from({ length: 90_000 }, () => []) } })}\n`,
  'an endless line': 'x'.repeat(64 * 1024),
  'standard error': '\n'.repeat(64 * 1024),
};

serveEcho();
process.stdin.on('data', (chunk: string) => {
  if (kind !== 'none' && chunk.includes('notifications/initialized')) void flood(pieces[kind]);
});

async function flood(piece: string): Promise<never> {
  const output = kind === 'standard error' ? process.stderr : process.stdout;
  for (;;) {
    if (!output.write(piece)) await once(output, 'drain');
    await new Promise(setImmediate);
  }
}
