import { expect, test } from 'vitest';
import { offer, startedOnce } from './started-once.ts';
import type { Started } from './started-once.ts';

/** Offers programs, and notes what happens to them. */
async function openOffer(starters: Record<string, () => Promise<string>>) {
  const events: string[] = [];
  let socket = '';
  const programs = Object.entries(starters).map(([name, start]) => {
    const starter = async (): Promise<Started> => {
      events.push(`start ${name}`);
      const text = await start();
      return { text, [Symbol.asyncDispose]: async () => void events.push(`end ${name}`) };
    };
    return [name, starter] as const;
  });
  const project = { provide: (_: string, path: unknown) => void (socket = String(path)) };
  const end = await offer(project, Object.fromEntries(programs));
  return { events, end, ask: (name: string) => startedOnce(name, socket) };
}

test('a program starts when a test asks, once for all tests, and ends with the run', async () => {
  const { events, end, ask } = await openOffer({
    docker: async () => 'a socket',
    podman: async () => 'another',
  });

  const answers = await Promise.all([ask('docker'), ask('docker')]);
  await end();

  expect(answers).toEqual(['a socket', 'a socket']);
  expect(events).toEqual(['start docker', 'end docker']);
});

test('every test that asks for a program that cannot start gets its error', async () => {
  const { events, end, ask } = await openOffer({
    docker: () => Promise.reject(new Error('no kernel module')),
  });

  await expect(ask('docker')).rejects.toThrow('cannot start docker: Error: no kernel module');
  await expect(ask('docker')).rejects.toThrow('no kernel module');
  await expect(ask('dokcer')).rejects.toThrow('unknown program dokcer');
  await end();

  expect(events).toEqual(['start docker']);
});
