import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { createRequire } from 'node:module';
import { basename } from 'node:path';
import { text } from 'node:stream/consumers';
import * as z from 'zod';

/** The keyring of the operating system, for entries of ToolHive. Nothing of it rejects. */
export interface Keyring {
  /** Can it be written and read now? Tells `report` why not. */
  isAvailable(): Promise<boolean>;
  /** Undefined also when the keyring is not there, locked or silent. */
  get(user: string): Promise<string | undefined>;
  /** True when it is kept. */
  set(user: string, password: string): Promise<boolean>;
}

export interface KeyringOptions {
  /** Says where the keyring is; nothing of the hive's own secrets is passed on. */
  env: NodeJS.ProcessEnv;
  /** Told why the keyring cannot be used. */
  report?: (why: string) => void;
  limitMs?: number;
}

const service = 'toolhive';
const testService = 'toolhive-test';
const defaultLimitMs = 5_000;

/**
 * The Secret Service on Linux, the Keychain on macOS, the Credential Manager on Windows. The kernel keyring of
 * Linux is no keyring to us: it forgets everything at a reboot.
 *
 * A program of its own asks it, because the native library blocks its whole process while D-Bus or a person is
 * asked, and a program can be ended when it takes too long.
 */
export function systemKeyring({ env, report = () => {}, limitMs = defaultLimitMs }: KeyringOptions): Keyring {
  const ask = async (...steps: Step[]): Promise<Answers> => {
    const library = findLibrary();
    if (library === undefined) return { failure: 'there is no keyring library for this system' };
    return askHelper([library, JSON.stringify(steps)], env, limitMs);
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
      report(failure ?? 'it does not give back what it was given');
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
  };
}

type Step =
  | { step: 'set'; service: string; user: string; password: string }
  | { step: 'get' | 'delete'; service: string; user: string };

/** What the helper says: an answer for each step, or why there is none. */
const Answers = z.object({
  answers: z.array(z.string().nullable()).optional(),
  failure: z.string().optional(),
});
type Answers = z.infer<typeof Answers>;

/** Runs on its own. What it is to do stands on its standard input, where no other user can see it. */
const helperSource = `'use strict';
const chunks = [];
process.stdin.on('data', (chunk) => chunks.push(chunk)).on('end', async () => {
  const [library, steps] = JSON.parse(Buffer.concat(chunks));
  const answers = [];
  try {
    const { AsyncEntry } = require(library);
    for (const { step, service, user, password } of JSON.parse(steps)) {
      const entry = new AsyncEntry(service, user, { linux: { store: 'secret-service' } });
      if (step === 'set') answers.push((await entry.setPassword(password), null));
      if (step === 'get') answers.push(await entry.getPassword());
      if (step === 'delete') answers.push((await entry.deleteCredential(), null));
    }
    process.stdout.write(JSON.stringify({ answers }));
  } catch (error) {
    process.stdout.write(JSON.stringify({ failure: String(error.message) }));
  }
});
`;

/** The native library, by a path that the helper can load; undefined where it is not installed. */
function findLibrary(): string | undefined {
  // A single executable is no Node that could run a helper.
  if (!/^node(\.exe)?$/.test(basename(process.execPath))) return undefined;
  try {
    const require = createRequire(import.meta.url);
    return require.resolve('@napi-rs/keyring');
  } catch {
    return undefined; // installed without it, which is allowed: it is made for some systems only
  }
}

async function askHelper(request: string[], env: NodeJS.ProcessEnv, limitMs: number): Promise<Answers> {
  const helper = spawn(process.execPath, ['-e', helperSource], {
    env: Object.fromEntries(Object.entries(env).filter(([name]) => !isOurs(name))),
    stdio: ['pipe', 'pipe', 'ignore'],
    timeout: limitMs,
    killSignal: 'SIGKILL',
  });
  try {
    helper.stdin.on('error', () => {}); // it ended early, which the lack of an answer tells
    helper.stdin.end(JSON.stringify(request));
    const failed = new Promise<never>((_resolve, reject) => helper.once('error', reject));
    const answer = await Promise.race([text(helper.stdout), failed]);
    if (answer === '') return { failure: `it did not answer within ${limitMs / 1000} seconds` };
    return Answers.parse(JSON.parse(answer));
  } catch {
    return { failure: 'its helper could not be run' };
  } finally {
    helper.kill('SIGKILL');
  }
}

function isOurs(name: string): boolean {
  return name.startsWith('TOOLHIVE_') || name.startsWith('OP_') || name === 'NODE_OPTIONS';
}
