import { execFile } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { fileURLToPath } from 'node:url';
import { afterEach, expect, test } from 'vitest';
import { testPort } from './port.ts';

const module = fileURLToPath(new URL('port.ts', import.meta.url));

/** Ports that a process of its own gets. */
async function portsOfAProcess(count: number): Promise<number[]> {
  const program = `
    const { testPort } = await import(${JSON.stringify(module)});
    console.log(JSON.stringify(await Promise.all(Array.from({ length: ${count} }, testPort))));
    process.stdin.on('end', () => {}).resume();`;
  const child = execFile(process.execPath, ['--input-type=module', '-e', program]);
  const [line] = (await once(child.stdout ?? child, 'data')) as [string];
  children.push(child);
  return JSON.parse(line) as number[];
}

const children: ChildProcess[] = [];
afterEach(() => {
  for (const child of children.splice(0)) child.stdin?.end();
});

test.runIf(process.platform === 'linux')(
  'no port is given to two callers, even in two processes',
  async () => {
    const ports = await Promise.all([portsOfAProcess(150), portsOfAProcess(150)]);

    expect(new Set(ports.flat())).toHaveProperty('size', 300);
  },
);

test('a port is free', async () => {
  const port = await testPort();

  const server = createServer();
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));

  expect(server.address()).toMatchObject({ port });
  server.close();
});
