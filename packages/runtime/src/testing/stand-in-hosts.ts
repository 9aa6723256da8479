import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { findProgram } from '../process/programs.ts';

const iproute = await findProgram('ip', { PATH: '/usr/sbin:/usr/bin:/sbin:/bin' });

/** Whether this user can make networks for tests. */
export const canMakeNetworks = process.getuid?.() === 0 && iproute !== undefined;

/** Another network as far as this machine can tell: a namespace behind a cable, with a program that listens in it. */
export interface StandInHosts extends AsyncDisposable {
  /** The address of this machine at the cable. */
  near: string;
  /** The addresses of the hosts. */
  far: readonly string[];
  /** One more, of a private network. */
  private: readonly string[];
}

/** The first three bytes of the addresses on the cable. They count as public, and the real ones are never reached. */
const PREFIXES = ['11.230.17', '11.230.18', '11.230.19', '11.230.20'];

/**
 * Starts `program`, a script for Node.js, in a network of its own with several addresses. The script says `ready` on
 * standard output when it listens. Its arguments are the addresses.
 */
export async function openStandInHosts(program: string, count: number): Promise<StandInHosts> {
  const id = crypto.randomUUID().slice(0, 8);
  const [name, nearDevice, farDevice] = [`thv-${id}`, `thv${id}n`, `thv${id}f`];
  const prefix = PREFIXES[Math.floor(Math.random() * PREFIXES.length)] ?? '';
  const near = `${prefix}.1`;
  const far = Array.from({ length: count }, (_, index) => `${prefix}.${index + 2}`);
  await using undo = new AsyncDisposableStack();
  await ip('netns', 'add', name);
  undo.defer(() => ip('netns', 'del', name));
  await ip('link', 'add', nearDevice, 'type', 'veth', 'peer', 'name', farDevice);
  undo.defer(() => ip('link', 'del', nearDevice).catch(() => {})); // it went with its other end, if that got away
  await ip('link', 'set', farDevice, 'netns', name);
  await ip('address', 'add', `${near}/24`, 'dev', nearDevice);
  await ip('link', 'set', nearDevice, 'up');
  const privateHost = `10.230.${prefix.split('.')[2]}.2`;
  await ip('address', 'add', privateHost.replace(/2$/, '1/24'), 'dev', nearDevice);
  for (const address of [...far, privateHost])
    await ip('-n', name, 'address', 'add', `${address}/24`, 'dev', farDevice);
  await ip('-n', name, 'link', 'set', 'lo', 'up');
  await ip('-n', name, 'link', 'set', farDevice, 'up');
  const child = spawn(
    iproute ?? '',
    ['netns', 'exec', name, process.execPath, '-e', program, ...far, privateHost],
    {
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  );
  undo.defer(async () => {
    const gone = once(child, 'exit');
    if (child.exitCode !== null || !child.kill('SIGKILL')) return;
    await gone;
  });
  const [line] = await Promise.race([
    once(createInterface(child.stdout), 'line'),
    once(child, 'exit').then(() => ['the stand-in hosts ended']),
  ]);
  if (line !== 'ready') throw new Error(String(line));
  const resources = undo.move();
  return { near, far, private: [privateHost], [Symbol.asyncDispose]: () => resources.disposeAsync() };
}

async function ip(...args: string[]): Promise<void> {
  await promisify(execFile)(iproute ?? '', args);
}
