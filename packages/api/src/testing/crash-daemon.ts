// A daemon that may be killed. As a program it is a process with such daemons in it, which `killable-daemons.ts` starts.
import { flushCompileCache } from 'node:module';
import type { Client } from '@toolhive/contract/client';
import type { Core } from '@toolhive/core/core';
import { openTestCore } from '@toolhive/core/testing';
import { pino } from 'pino';
import { apiClient } from './api-client.ts';
import { createApi } from '../api.ts';
import { listenOnSocket } from '../listen.ts';
import { CrashPoints } from './crash-points.ts';

/** Somebody to talk to, wherever it runs. */
export interface Daemon {
  home: string;
  client: Client;
  /** Everything in its log that is worse than news. */
  complaints: string[];
}

/** Opens the encrypted file in every home. */
export const passphrase = 'correct horse battery staple';

/** One in this process, which knows its secrets. */
export interface OpenDaemon extends Daemon, AsyncDisposable {
  secrets(): Promise<Record<string, string>>;
}

/** Opens a real daemon in a home, with servers in memory, that listens on its socket. */
export async function openDaemon(home: string, complain?: (text: string) => void): Promise<OpenDaemon> {
  const complaints: string[] = [];
  const write = complain ?? ((text: string) => void complaints.push(text));
  const env = { PATH: process.env['PATH'], HOME: home, TOOLHIVE_SECRETS_PASSWORD: passphrase };
  await using opened = new AsyncDisposableStack();
  const core = opened.use(
    await openTestCore(
      { path: home, env, [Symbol.asyncDispose]: async () => {} },
      {
        log: pino({ level: 'warn' }, { write }),
        secrets: { cost: { N: 2, r: 1, p: 1 }, keyring: noKeyring },
      },
    ),
  );
  const listener = { daemon: { pid: process.pid, background: true }, stop: () => {}, openUi: async () => '' };
  opened.use(await listenOnSocket(createApi(core, { listener }), core.paths.socket));
  const client = apiClient({ socketPath: core.paths.socket });
  const everything = opened.move();
  return {
    home,
    client,
    complaints,
    secrets: () => secretsOf(core),
    [Symbol.asyncDispose]: () => everything.disposeAsync(),
  };
}

const noKeyring = {
  isAvailable: async () => false,
  get: async () => undefined,
  set: async () => false,
  delete: async () => false,
};

async function secretsOf({ secrets }: Core): Promise<Record<string, string>> {
  const isSetUp = await secrets.describe().then(
    () => true,
    () => false,
  );
  const names = isSetUp ? (await secrets.list()).map(({ key }) => key) : [];
  const values = names.map(async (name) => [name, await secrets.resolve({ name, target: '' })] as const);
  return Object.fromEntries(await Promise.all(values));
}

/** What such a process tells of a home. */
export type FromDaemon = { home: string } & (
  { is: 'open' } | { is: 'complaint'; text: string } | { is: 'step'; isWaiting: boolean }
);

/** What it is told: to wait before each step from now on, and to take the one that it waits with. */
export interface ToDaemon {
  home: string;
  is: 'wait' | 'go on';
}

if (import.meta.main) {
  const homes = process.argv.slice(2);
  const tell = (message: FromDaemon): void => void process.send?.(message);
  const points = new CrashPoints(homes, (home, isWaiting) => tell({ home, is: 'step', isWaiting }));
  process.on('disconnect', () => process.exit()); // the test is over, however it ended
  process.on('message', ({ home, is }: ToDaemon) => {
    if (is === 'wait') points.wait(home);
    else points.goOn(home);
  });
  const open = async (home: string): Promise<void> => {
    await openDaemon(home, (text) => tell({ home, is: 'complaint', text }));
    tell({ home, is: 'open' });
  };
  await Promise.all(homes.map(open));
  flushCompileCache();
}
