import { mkdtempDisposable, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readNpmSettings } from './npm-settings.ts';

async function settingsFor(npmrc: string, env: NodeJS.ProcessEnv = {}) {
  await using home = await mkdtempDisposable(join(tmpdir(), 'thv-npmrc-'));
  await writeFile(join(home.path, '.npmrc'), npmrc);
  return readNpmSettings({ HOME: home.path, ...env }, '/usr/lib/node_modules/npm');
}

test('keeps registries, their credentials, and policies, and nothing that runs programs', async () => {
  const { npmrc, registries } = await settingsFor(
    [
      'registry=https://npm.example.com/',
      '@team:registry=https://team.example.com:8443/npm/',
      '//npm.example.com/:_authToken=${NPM_TOKEN}',
      '//github.example.com/:_authToken=of-another-host',
      'min-release-age=3',
      'git=./script',
      'script-shell=/tmp/evil',
      'ignore-scripts=false',
      'prefix=/home/you/.global',
    ].join('\n'),
    { NPM_TOKEN: 'secret' },
  );

  expect(npmrc.trimEnd().split('\n').toSorted()).toEqual([
    '//npm.example.com/:_authToken="secret"',
    '@team:registry="https://team.example.com:8443/npm/"',
    'min-release-age="3"',
    'registry="https://npm.example.com/"',
  ]);
  expect([...registries]).toEqual(['registry.npmjs.org:443', 'npm.example.com:443', 'team.example.com:8443']);
});

test('prefers environment variables to files', async () => {
  const { npmrc } = await settingsFor('registry=https://npm.example.com/\n', {
    npm_config_registry: 'http://127.0.0.1:4873/',
    npm_config_fetch_retries: '0',
  });

  expect(npmrc).toBe('registry="http://127.0.0.1:4873/"\nfetch-retries="0"\n');
});
