import { execFile, spawn } from 'node:child_process';
import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { isInstalled } from '@toolhive/testing/machine';
import { makeUser, testServer, thvScript, until } from './testing/thv.ts';
import type { User } from './testing/thv.ts';

const execute = promisify(execFile);

/** A user whose PATH has `thv`, with a workload. */
async function makeTypist(): Promise<User> {
  const user = await makeUser();
  const bin = join(user.home, 'bin');
  await mkdir(bin);
  await writeFile(join(bin, 'thv'), `#!/bin/sh\nexec ${process.execPath} ${thvScript} "$@"\n`, {
    mode: 0o755,
  });
  await symlink(process.execPath, join(bin, 'node'));
  user.env['PATH'] = [bin, process.env['PATH']].join(delimiter);
  await user.mustThv('run', testServer, '--name', 'my.files', '--', 'echo');
  return user;
}

const lines = [
  ['thv resta', ['restart']],
  ['thv logs my', ['my.files']],
  ['thv list --format ', ['json', 'mcpservers', 'text']],
  ['thv list --gro', ['--group']],
] as const;

describe.skipIf(!isInstalled('bash'))('in bash', () => {
  test('what can come next is offered', async () => {
    await using user = await makeTypist();
    const ask = `
      source <(thv completion bash)
      offer() { COMP_LINE=$1 COMP_POINT=\${#1}; _thv; printf '%s,' "\${COMPREPLY[@]}"; echo; }
      ${lines.map(([line]) => `offer '${line}'`).join('\n')}
      offer 'thv list --format=j'`;

    const { stdout } = await execute('bash', ['--norc', '-c', ask], { env: user.env });

    const offered = stdout
      .trim()
      .split('\n')
      .map((line) => line.split(',').filter(Boolean).toSorted());
    expect(offered).toEqual([...lines.map(([, words]) => [...words]), ['json']]);
  });
});

describe.skipIf(!isInstalled('fish'))('in fish', () => {
  test('what can come next is offered, and what it is', async () => {
    await using user = await makeTypist();
    const ask = [
      'thv completion fish | source',
      ...lines.map(([line]) => `complete -C '${line}'; echo .`),
    ].join('; ');

    const { stdout } = await execute('fish', ['--no-config', '-c', ask], { env: user.env });

    const offered = stdout.split('.\n').slice(0, -1);
    const words = offered.map((text) =>
      text
        .trim()
        .split('\n')
        .map((line) => line.split('\t')[0] ?? '')
        .toSorted(),
    );
    expect(words).toEqual(lines.map(([, expected]) => [...expected]));
    expect(offered[0]).toContain('restart\tRestart');
  });
});

describe.skipIf(!isInstalled('zsh'))('in zsh', () => {
  test('what is typed is completed', async () => {
    await using user = await makeTypist();
    const shell = spawn('script', ['-qefc', 'stty cols 200; exec zsh -f -i', '/dev/null'], {
      env: { ...user.env, TERM: 'xterm', PS1: '> ' },
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    let screen = '';
    shell.stdout.on('data', (chunk: Buffer) => (screen += chunk.toString()));
    const ended = new Promise((resolve) => shell.once('close', resolve));
    shell.stdin.write(
      'autoload -U compinit && compinit -u -D && source <(thv completion zsh) && echo rea""dy\n',
    );
    await until(() => screen.includes('ready'));

    shell.stdin.write('thv logs my\t--ta\t1\n');

    await until(() => screen.includes('my.files has written nothing'));
    shell.stdin.write('exit\n');
    await ended;
    expect(screen).toContain('--tail');
  });
});
