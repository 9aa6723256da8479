// A process with real hives in it, one for each home that it is given; made to be killed by `killable-hives.ts`.
import { flushCompileCache } from 'node:module';
import { openTestCore } from '@toolhive/core/testing';
import { pino } from 'pino';
import { createApi } from '../api.ts';
import { listenOnSocket } from '../listen.ts';
import { CrashPoints } from './crash-points.ts';

/** What this process tells. */
export type FromHive = { home: string } & (
  | { is: 'open'; secrets: Record<string, string> }
  | { is: 'complaint'; text: string }
  | { is: 'step'; taken: number; isFrozen: boolean }
);

/** What it is told: to freeze a home at the so-manieth step from now on. */
export interface ToHive {
  home: string;
  freezeAt: number;
}

/** Opens the encrypted file in every home. */
export const passphrase = 'correct horse battery staple';

const points = new CrashPoints();
const tell = (message: FromHive): void => void process.send?.(message);

async function open(home: string): Promise<void> {
  const write = (text: string): void => tell({ home, is: 'complaint', text });
  const env = { PATH: process.env['PATH'], HOME: home, TOOLHIVE_SECRETS_PASSWORD: passphrase };
  const core = await openTestCore(
    { path: home, env, [Symbol.asyncDispose]: async () => {} },
    {
      log: pino({ level: 'warn' }, { write }),
      secrets: { cost: { N: 2, r: 1, p: 1 }, keyring: noKeyring },
    },
  );
  const hive = { pid: process.pid, version: core.version, started_at: new Date().toISOString() };
  await listenOnSocket(createApi(core, { listener: { hive, stop: () => {} } }), core.paths.socket);

  const isSetUp = await core.secrets.describe().then(
    () => true,
    () => false,
  );
  const names = isSetUp ? (await core.secrets.list()).map(({ key }) => key) : [];
  const values = names.map(async (name) => [name, await core.secrets.resolve({ name, target: '' })] as const);
  tell({ home, is: 'open', secrets: Object.fromEntries(await Promise.all(values)) });
}

const noKeyring = { isAvailable: async () => false, get: async () => undefined, set: async () => false };

if (import.meta.main) {
  process.on('disconnect', () => process.exit()); // the test is over, however it ended
  process.on('message', ({ home, freezeAt }: ToHive) =>
    points.arm(home, freezeAt, (taken, isFrozen) => tell({ home, is: 'step', taken, isFrozen })),
  );
  await Promise.all(process.argv.slice(2).map(open));
  flushCompileCache();
}
