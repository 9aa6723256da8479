import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type Server, type ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { Instance } from '../runtime.ts';
import { aLaunch } from '../testing/conformance.ts';
import { openInstance } from './instance.ts';

let directory: string;
let socket: string;
let open: AsyncDisposableStack;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'thv-instance-'));
  socket = join(directory, 'engine.sock');
  open = new AsyncDisposableStack();
});
afterEach(async () => {
  await open.disposeAsync();
  await rm(directory, { recursive: true, force: true });
});

/** Answers a call to the engine. A call that it leaves alone gets no answer. */
type Engine = (call: string, response: ServerResponse) => void;

test('kills a container whose stop signal the engine does not carry out', async () => {
  const waits: ServerResponse[] = [];
  await listen((call, response) => {
    if (call.endsWith('/wait?condition=not-running')) waits.push(response);
    else if (call.endsWith('/kill?signal=SIGKILL')) {
      response.end();
      for (const wait of waits) wait.end('{}');
    } else if (call.endsWith('/json')) response.end(inspected({ Running: false, ExitCode: 137 }));
    else if (call.startsWith('DELETE')) response.end();
  });
  const instance = open.use(instanceOf());

  await instance.stop(200);

  expect(await instance.exited).toEqual({ code: null, signal: 'SIGKILL' });
});

test('kills a container when the engine is back that failed to do so', async () => {
  const kills: string[] = [];
  const waits: ServerResponse[] = [];
  await listen((call, response) => {
    if (call.endsWith('/wait?condition=not-running')) {
      if (kills.length > 1) response.end('{}');
      else waits.push(response);
    } else if (call.endsWith('/kill?signal=SIGKILL')) {
      kills.push(call);
      if (kills.length === 1) response.writeHead(500).end('{"message":"no answer from containerd"}');
      else {
        response.end();
        for (const wait of waits) wait.end('{}');
      }
    } else if (call.endsWith('/json')) response.end(inspected({ Running: kills.length < 2, ExitCode: 137 }));
    else if (call.startsWith('DELETE')) response.end();
  });
  const instance = open.use(instanceOf());
  await vi.waitFor(() => expect(waits).toHaveLength(1));

  const stopped = await instance.stop(0).catch((error: unknown) => error);
  waits.shift()?.destroy(); // the engine ends and starts again

  expect(stopped).toMatchObject({ message: expect.stringContaining('no answer from containerd') });
  expect(await instance.exited).toEqual({ code: null, signal: 'SIGKILL' });
});

test('lets the daemon end while an engine that hangs still owes an answer', async () => {
  const asked = Promise.withResolvers<void>();
  await listen(() => asked.resolve());
  const container = pathToFileURL(join(import.meta.dirname, 'container.ts')).href;
  const code = `
    const { waitForContainer } = await import(${JSON.stringify(container)});
    const engine = { kind: 'docker', socket: ${JSON.stringify(socket)}, apiVersion: '1.41' };
    waitForContainer(engine, 'id', 'not-running').catch(() => {});
    await import('node:timers/promises').then(({ setTimeout }) => setTimeout(300));`;

  const child = spawn(process.execPath, ['--input-type=module', '--eval', code], { stdio: 'inherit' });
  const exited = once(child, 'exit');
  await asked.promise;

  expect(await exited).toEqual([0, null]);
});

function instanceOf(): Instance {
  return openInstance(
    { kind: 'docker', socket, apiVersion: '1.41' },
    {
      id: 'id',
      attachment: { closed: Promise.resolve(), writeFirst: () => {}, close: () => {}, unref: () => {} },
      address: undefined,
      launch: aLaunch({ kind: 'image', image: 'test' }, {}),
      limits: [],
      volumes: [],
      stopSignal: 'SIGTERM',
      release: async () => {},
      log: () => {},
    },
  );
}

function inspected(state: { Running: boolean; ExitCode: number }): string {
  return JSON.stringify({ Id: 'id', Name: 'test', Config: {}, State: state, NetworkSettings: {} });
}

async function listen(engine: Engine): Promise<void> {
  const server: Server = createServer((request, response) => {
    response.setHeader('connection', 'close');
    engine(`${request.method} ${request.url}`, response);
  });
  await once(server.listen(socket), 'listening');
  open.defer(async () => {
    server.closeAllConnections();
    await new Promise((closed) => server.close(closed));
  });
}
