import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, request } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { inject } from 'vitest';
import type { TestProject } from 'vitest/node';

declare module 'vitest' {
  interface ProvidedContext {
    /** The Unix socket that test files ask for things of `offer`. */
    startedOnce: string;
  }
}

/** A running program with the text that test files need to use the program, such as its address. */
export interface Started extends AsyncDisposable {
  text: string;
}

/**
 * Offers programs to all test files. A program starts when the first file asks for it, so a run that needs none of them
 * starts nothing. The returned function ends all of them.
 */
export async function offer(
  project: Pick<TestProject, 'provide'>,
  starters: Readonly<Record<string, () => Promise<Started>>>,
): Promise<() => Promise<void>> {
  const folder = await mkdtemp(join(tmpdir(), 'thv-once-'));
  const socket = join(folder, 'socket');
  const starts = new Map<string, Promise<Started>>();
  const start = (name: string): Promise<Started> => {
    const known = starts.get(name);
    if (known !== undefined) return known;
    const starter = starters[name];
    const starting = starter === undefined ? Promise.reject(new Error(`unknown program ${name}`)) : starter();
    starts.set(name, starting);
    return starting;
  };
  const server = createServer((asked, answer) => {
    start((asked.url ?? '').slice(1)).then(
      (started) => answer.end(started.text),
      (error: unknown) => answer.writeHead(500).end(error instanceof Error ? error.stack : String(error)),
    );
  });
  server.requestTimeout = 0;
  server.listen(socket);
  await once(server, 'listening');
  project.provide('startedOnce', socket);
  return async () => {
    server.close();
    server.closeAllConnections();
    for (const starting of starts.values()) {
      const started = await starting.catch(() => undefined); // The caller that asked for the program got the error
      await started?.[Symbol.asyncDispose]();
    }
    await rm(folder, { recursive: true });
  };
}

/** Starts a program of `offer` unless it runs, and returns its text. */
export async function startedOnce(name: string, socketPath = inject('startedOnce')): Promise<string> {
  const asking = request({ socketPath, path: `/${name}`, agent: false });
  asking.end();
  const [answer] = (await once(asking, 'response')) as [IncomingMessage];
  const content = await text(answer);
  if (answer.statusCode !== 200) throw new Error(`cannot start ${name}: ${content}`);
  return content;
}
