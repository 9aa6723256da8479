import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { text } from 'node:stream/consumers';
import * as z from 'zod';
import type { KeyringStep } from './keyring-helper.ts';
import { findKeyringHelper } from './keyring-library.ts';

/** The operating system's keyring, for ToolHive's entries. None of its methods reject. */
export interface Keyring {
  /** Whether the keyring is writable and readable now. Passes the reason to `report`. */
  isAvailable(): Promise<boolean>;
  /** Also undefined if the keyring is missing, locked, or does not answer. */
  get(user: string): Promise<string | undefined>;
  /** Whether the value was stored. */
  set(user: string, password: string): Promise<boolean>;
  /** Whether the entry no longer exists. */
  delete(user: string): Promise<boolean>;
}

export interface KeyringOptions {
  /** The variables that locate the keyring. None of the daemon's secrets are passed on. */
  env: NodeJS.ProcessEnv;
  /** Told why the keyring cannot be used. */
  report?: (why: string) => void;
  limitMs?: number;
}

const service = 'toolhive';
const testService = 'toolhive-test';
const defaultLimitMs = 5_000;

/**
 * The Secret Service on Linux, the Keychain on macOS, the Credential Manager on Windows. The Linux kernel keyring is
 * not used, because it loses everything at a reboot.
 *
 * A separate program accesses it, because the native library blocks its whole process while D-Bus or the user
 * responds, and a program can be stopped after a time limit.
 */
export function systemKeyring({ env, report = () => {}, limitMs = defaultLimitMs }: KeyringOptions): Keyring {
  const ask = async (...steps: KeyringStep[]): Promise<Answers> => {
    try {
      const helper = await findKeyringHelper(env);
      if (helper === undefined) return { failure: 'no keyring library is available for this system' };
      return await askHelper(helper.args, [helper.library, steps], env, limitMs);
    } catch {
      return { failure: 'its helper could not be run' };
    }
  };
  return {
    async isAvailable() {
      const user = `probe-${randomBytes(6).toString('hex')}`;
      const password = randomBytes(16).toString('base64url');
      const { answers, failure } = await ask(
        { step: 'set', service: testService, user, password },
        { step: 'get', service: testService, user },
        { step: 'delete', service: testService, user },
      );
      if (answers?.[1] === password) return true;
      report(failure ?? 'the keyring does not return the stored value');
      return false;
    },
    async get(user) {
      const { answers } = await ask({ step: 'get', service, user });
      return answers?.[0] ?? undefined;
    },
    async set(user, password) {
      const { answers } = await ask({ step: 'set', service, user, password }, { step: 'get', service, user });
      return answers?.[1] === password;
    },
    async delete(user) {
      const { answers: before } = await ask({ step: 'get', service, user });
      if (before === undefined) return false;
      if (before[0] === null) return true; // there is none, which some keyrings take for a mistake
      const { answers } = await ask({ step: 'delete', service, user }, { step: 'get', service, user });
      return answers !== undefined && (answers[1] ?? null) === null;
    },
  };
}

/** What the helper says: an answer for each step, or why there is none. */
const Answers = z.object({
  answers: z.array(z.string().nullable()).optional(),
  failure: z.string().optional(),
});
type Answers = z.infer<typeof Answers>;

async function askHelper(
  args: string[],
  request: [library: string, steps: KeyringStep[]],
  env: NodeJS.ProcessEnv,
  limitMs: number,
): Promise<Answers> {
  const helper = spawn(process.execPath, args, {
    env: Object.fromEntries(Object.entries(env).filter(([name]) => !isOurs(name))),
    stdio: ['pipe', 'pipe', 'ignore'],
    timeout: limitMs,
    killSignal: 'SIGKILL',
  });
  try {
    helper.stdin.on('error', () => {}); // the program ended early, as the missing answer shows
    helper.stdin.end(JSON.stringify(request));
    const failed = new Promise<never>((_resolve, reject) => helper.once('error', reject));
    const answer = await Promise.race([text(helper.stdout), failed]);
    if (answer === '') return { failure: `the keyring did not answer within ${limitMs / 1000} seconds` };
    return Answers.parse(JSON.parse(answer));
  } finally {
    helper.kill('SIGKILL');
  }
}

function isOurs(name: string): boolean {
  return name.startsWith('TOOLHIVE_') || name.startsWith('OP_') || name === 'NODE_OPTIONS';
}
