// @suite e2e (in depth)
import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openTerminal } from './testing/terminal.ts';
import { testServer } from './testing/thv.ts';
import type { User } from './testing/thv.ts';
import { openUsedHomes } from './testing/used-homes.ts';
import { proves } from '@toolhive/testing/promises';

// Access that is dangerous, which a user gets only after saying so.

describe('dangerous access', () => {
  let user: User;
  let keys: string;

  beforeAll(async () => {
    user = await openUsedHomes().take();
    keys = join(user.home, '.ssh');
    await mkdir(keys);
  });
  afterAll(() => user?.[Symbol.asyncDispose]());

  const wordsFor = (name: string, ...flags: string[]): string[] => [
    'run',
    testServer,
    '--name',
    name,
    ...flags,
    '--',
    'echo',
  ];
  const names = async (): Promise<string[]> => {
    const list = JSON.parse(await user.mustThv('list', '--all', '--format', 'json')) as { name: string }[];
    return list.map(({ name }) => name);
  };

  test('is refused without a terminal, with what it is and how to accept it', async () => {
    await symlink(keys, join(user.home, 'harmless'));

    const direct = await user.thv(...wordsFor('refused', '--volume', `${keys}:/keys:ro`));
    const link = await user.thv(...wordsFor('refused', '--volume', `${user.home}/harmless:/keys:ro`));

    for (const { code, stderr } of [direct, link]) {
      expect(code).toBe(2);
      expect(stderr).toContain('accepted_risks must contain mount-credentials: the server can access ');
      expect(stderr).toContain('Hint: to accept that, add --accept-risks to thv run');
    }
    expect(await names()).toEqual([]);
  });

  test('is refused for places that contain credentials or run commands later, and for what is in or around them', async () => {
    proves('security.consent');
    const places: [string, string, boolean][] = [
      ['.ssh/id_rsa', 'mount-credentials', true],
      ['.aws/credentials', 'mount-credentials', true],
      ['.config/gh', 'mount-credentials', true],
      ['.local/share/keyrings', 'mount-credentials', true],
      ['.git-credentials', 'mount-credentials', true],
      ['.bash_history', 'mount-credentials', true],
      ['.bashrc', 'mount-programs', false],
      ['.gitconfig', 'mount-programs', false],
      ['.config/systemd', 'mount-programs', false],
      ['.local/bin', 'mount-programs', false],
    ];
    const directories = new Set(['.config/gh', '.local/share/keyrings', '.config/systemd', '.local/bin']);
    for (const [place] of places) {
      const path = join(user.home, place);
      await mkdir(directories.has(place) ? path : dirname(path), { recursive: true });
      if (!directories.has(place)) await writeFile(path, 'x');
    }
    await mkdir(join(user.home, 'notes'));

    const refused = [];
    for (const [place, , readOnly] of places) {
      const volume = `${join(user.home, place)}:/data${readOnly ? ':ro' : ''}`;
      refused.push(await user.thv(...wordsFor('refused', '--volume', volume)));
    }
    const harmless = await user.thv(
      ...wordsFor(
        'harmless',
        '--volume',
        `${user.home}/notes:/notes`,
        '--volume',
        `${user.home}/.bashrc:/bashrc:ro`,
        '--volume',
        '/usr:/machine:ro',
      ),
    );
    await user.thv('rm', 'harmless', '--yes');

    for (const [index, { code, stderr }] of refused.entries()) {
      expect(code).toBe(2);
      expect(stderr).toContain(`accepted_risks must contain ${places[index]?.[1]}`);
    }
    expect(harmless.code).toBe(0);
  });

  test('is listed in a terminal, and needs a yes', async () => {
    const words = wordsFor('asked', '--volume', `${keys}:/keys`);

    const declined = openTerminal(user, words);
    await declined.shows('Give the server this access? [y/N]');
    declined.type('n\r');
    const codes = [await declined.ended];
    const afterNo = await names();
    const accepted = openTerminal(user, words);
    await accepted.shows('Give the server this access? [y/N]');
    accepted.type('y\r');
    codes.push(await accepted.ended);

    expect(accepted.screen()).toContain(
      `- the server can access ${keys}, which contains credentials, and change it`,
    );
    expect(codes[0]).not.toBe(0);
    expect(codes[1]).toBe(0);
    expect(afterNo).toEqual([]);
    expect(await user.mustThv('permission', 'show', 'asked')).toContain(`the server can access ${keys}`);
    await user.mustThv('restart', 'asked'); // asks nothing
  });

  test('is accepted by a flag, and never by a file', async () => {
    proves('security.consent');
    const file = join(user.home, 'exported.json');
    await user.mustThv(...wordsFor('flagged', '--volume', `${keys}:/keys:ro`, '--accept-risks'));
    await user.mustThv('export', 'flagged', file);
    await user.mustThv('rm', 'flagged');
    const exported = JSON.parse(await readFile(file, 'utf8')) as object;
    await writeFile(file, JSON.stringify({ ...exported, accepted_risks: ['mount-credentials'] }));

    const refused = await user.thv('run', '--from-config', file);
    await user.mustThv('run', '--from-config', file, '--accept-risks');

    expect(exported).not.toHaveProperty('accepted_risks');
    expect([refused.code, refused.stderr]).toEqual([
      2,
      expect.stringContaining('accepted_risks must contain mount-credentials'),
    ]);
    expect(await names()).toContain('flagged');
  });

  test('to an open network is accepted by the name of the built-in profile, and not by a file that says the same', async () => {
    const file = join(user.home, 'profile.json');
    const profile = { name: 'network', network: { outbound: { insecure_allow_all: true } } };
    await writeFile(file, JSON.stringify(profile));

    const fromFile = await user.thv(...wordsFor('open', '--permission-profile', file));
    const named = await user.thv(...wordsFor('open', '--permission-profile', 'network'));

    expect([fromFile.code, fromFile.stderr]).toEqual([
      2,
      expect.stringContaining(
        'accepted_risks must contain open-network: the server reaches every public host on every port',
      ),
    ]);
    expect(named.code).toBe(0);
  });
});
