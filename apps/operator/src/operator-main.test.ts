// @suite system
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

test('an unknown flag ends the operator with one line that names it', () => {
  const program = fileURLToPath(new URL('operator-main.ts', import.meta.url));

  const { status, stdout, stderr } = spawnSync(process.execPath, [program, '--metrics-bind-adress', ':1'], {
    encoding: 'utf8',
  });

  expect([status, stderr]).toEqual([1, '']);
  expect(
    stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line)),
  ).toEqual([
    expect.objectContaining({ level: 60, msg: "the operator ended: Unknown option '--metrics-bind-adress'" }),
  ]);
});
