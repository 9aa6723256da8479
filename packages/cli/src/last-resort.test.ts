import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

const module = fileURLToPath(new URL('last-resort.ts', import.meta.url));

/** A process that opens something, meets a fault, and closes what it has opened when it is told to end. */
const script = (fault: string): string => `
  import { pino } from 'pino';
  import { endOnFault } from ${JSON.stringify(module)};
  const keptAlive = setInterval(() => {}, 1000);
  const takeFault = ({ message }) => message.includes('of a workload');
  endOnFault(pino(), {
    takeFault,
    end: () => {
      console.log('closed');
      clearInterval(keptAlive);
    },
  });
  setImmediate(() => { ${fault} });
`;

test.each([
  ['an exception', `throw new Error('a bug')`],
  ['a rejection', `Promise.reject(new Error('a bug'))`],
  ['several exceptions', `setImmediate(() => { throw new Error('another') }); throw new Error('a bug')`],
])('%s that nothing has caught ends the process in good order', async (_what, fault) => {
  const run = promisify(execFile);

  const ended = run(process.execPath, ['--input-type=module', '-e', script(fault)]).then(
    () => undefined,
    (error: { code: number; stdout: string }) => error,
  );

  const { code, stdout } = (await ended) ?? { code: 0, stdout: '' };
  expect(code).toBe(1);
  expect(stdout.match(/^closed$/gm)).toHaveLength(1);
  expect(stdout).toMatch(/"stack":"Error: a bug.n +at/);
});

test('a fault that a workload has caused does not end the process', async () => {
  const faults = `Promise.reject(new Error('a bug of a workload'));
    setTimeout(() => { console.log('runs'); process.exit(0); }, 50)`;

  const { stdout } = await promisify(execFile)(process.execPath, [
    '--input-type=module',
    '-e',
    script(faults),
  ]);

  expect(stdout).toBe('runs\n');
});
