// @suite system
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { secretInputOf } from './secret-input.ts';

/** The shells of images, as far as this machine has them. On CI it has them all. */
const shells = ['/bin/dash', '/bin/bash', '/bin/busybox'].map((shell) => ({
  shell,
  isThere: existsSync(shell),
}));

const mayNotSkip = process.env['CI'] === 'true' && process.platform === 'linux' && process.getuid?.() === 0;

describe.each(shells)('by $shell', ({ shell, isThere }) => {
  test.runIf(isThere || mayNotSkip)('any value is handed over as it is', async () => {
    const anything = fc.string({ unit: 'binary' }).map((any) => any.replaceAll('\0', '').toWellFormed());
    const code = fc.integer({ min: 1, max: 0x24f }).map((point) => String.fromCodePoint(point));
    const values = fc.array(fc.oneof(anything, fc.string({ unit: code })), { minLength: 10, maxLength: 30 });
    await fc.assert(
      fc.asyncProperty(values, async (some) => {
        const secrets = Object.fromEntries(some.map((value, index) => [`SECRET_${index}`, value]));

        const { environment, rest } = await run(shell, secrets);

        expect(environment).toMatchObject(secrets);
        expect(rest).toBe('the protocol\n');
      }),
      { numRuns: 15 },
    );
  });

  test.runIf(isThere || mayNotSkip)('nothing of its own is left in the environment', async () => {
    const { environment } = await run(shell, { ONE: '1' });

    expect(
      Object.keys(environment).filter((name) => !['PATH', 'PWD', 'SHLVL', '_', 'OLDPWD'].includes(name)),
    ).toEqual(['ONE']);
  });

  test.runIf(isThere || mayNotSkip)('no server is started when the input ends too early', async () => {
    const { entrypoint, input } = secretInputOf({ ONE: '1' }, 'stdio', ['echo', 'started']);

    const { output, code } = await runShell(
      shell,
      [...entrypoint.slice(1), 'echo', 'started'],
      input.subarray(0, -2),
    );

    expect([code, output]).toEqual([125, '']);
  });
});

async function run(shell: string, secrets: Record<string, string>) {
  const program = `process.stdin.setEncoding('utf8'); let rest = '';
    process.stdin.on('data', (chunk) => (rest += chunk)).on('end', () =>
      process.stdout.write(JSON.stringify({ environment: process.env, rest })));`;
  const server = [process.execPath, '-e', program];
  const { entrypoint, input } = secretInputOf(secrets, 'stdio', server);
  const everything = Buffer.concat([input, Buffer.from('the protocol\n')]);
  const { output } = await runShell(shell, [...entrypoint.slice(1), ...server], everything);
  return JSON.parse(output) as { environment: Record<string, string>; rest: string };
}

/** Under the name that it has in images, by which shells tell how they are to behave. */
async function runShell(shell: string, args: readonly string[], input: Buffer) {
  const env = { PATH: process.env['PATH'] };
  const child = spawn(shell, args, { argv0: 'sh', env, stdio: ['pipe', 'pipe', 'inherit'] });
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
  child.stdin.end(input);
  return { output: await text(child.stdout), code: await ended };
}
