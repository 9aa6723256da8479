import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { findProgram } from '../programs.ts';

const iproute = await findProgram('ip', { PATH: '/usr/sbin:/usr/bin:/sbin:/bin' });

/** Whether this user can make networks for tests. */
export const canMakeNetworks = process.getuid?.() === 0 && iproute !== undefined;

/** Another network as far as this machine can tell: a namespace behind a cable, with a program that listens in it. */
export interface StandInHosts extends AsyncDisposable {
  /** The name of the namespace of the hosts. */
  namespace: string;
  /** The address of this machine at the cable. */
  near: string;
  /** The addresses of the hosts. */
  far: readonly string[];
  /** One more, of a private network. */
  private: readonly string[];
}

/** The third byte of the addresses on the cable. 11.230.x.x counts as public, and the real ones are never reached. */
const PLACES = Array.from({ length: 40 }, (_, index) => index + 17);

/**
 * Starts `program`, a script for Node.js, in a network of its own with several addresses. The script says `ready` on
 * standard output when it listens. Its arguments are the addresses.
 */
export async function openStandInHosts(program: string, count: number): Promise<StandInHosts> {
  await using undo = new AsyncDisposableStack();
  const name = `thv-${crypto.randomUUID().slice(0, 8)}`;
  await ip('netns', 'add', name);
  undo.defer(() => ip('netns', 'del', name));
  const place = await takePlace(name);
  const [nearDevice, farDevice] = devicesAt(place);
  // Before the namespace, which deletes the cable at some time later: the place is free at once. By the end in the
  // namespace, because the name of the other end can belong to another test as soon as the cable is gone.
  undo.defer(() => ip('-n', name, 'link', 'del', farDevice));
  const near = `11.230.${place}.1`;
  const far = Array.from({ length: count }, (_, index) => `11.230.${place}.${index + 2}`);
  await ip('address', 'add', `${near}/24`, 'dev', nearDevice);
  await ip('link', 'set', nearDevice, 'up');
  const privateHost = `10.230.${place}.2`;
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
  return {
    namespace: name,
    near,
    far,
    private: [privateHost],
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}

const devicesAt = (place: number) => [`thv${place}near`, `thv${place}far`] as const;

/** Makes a cable for a place that no other test has now. The name of its near end belongs to one test at a time. */
async function takePlace(namespace: string): Promise<number> {
  for (const place of PLACES) {
    const [near, far] = devicesAt(place);
    try {
      await ip('link', 'add', near, 'type', 'veth', 'peer', 'name', far, 'netns', namespace);
      return place;
    } catch (error) {
      if (!String(error).includes('File exists')) throw error;
    }
  }
  throw new Error('all places for stand-in hosts are taken; is a test still running?');
}

async function ip(...args: string[]): Promise<void> {
  await promisify(execFile)(iproute ?? '', args);
}
