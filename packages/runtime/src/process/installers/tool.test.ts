import { expect, test } from 'vitest';
import { installerEnvironment, runTool } from './tool.ts';

test('installers see where registries are and no other secret of the host', () => {
  const environment = installerEnvironment({
    PATH: '/usr/bin',
    HOME: '/home/ada',
    HTTPS_PROXY: 'http://proxy',
    no_proxy: 'localhost',
    npm_config_registry: 'http://registry',
    NPM_TOKEN: 'token',
    UV_DEFAULT_INDEX: 'http://index',
    GOPROXY: 'http://goproxy',
    SSL_CERT_FILE: '/ca.pem',
    GOOGLE_APPLICATION_CREDENTIALS: '/key.json',
    AWS_SECRET_ACCESS_KEY: 'secret',
    GITHUB_TOKEN: 'secret',
    NODE_OPTIONS: '--require /tmp/x.js',
    LD_PRELOAD: '/tmp/x.so',
  });

  expect(Object.keys(environment).toSorted()).toEqual([
    'GOPROXY',
    'HOME',
    'HTTPS_PROXY',
    'NPM_TOKEN',
    'PATH',
    'SSL_CERT_FILE',
    'UV_DEFAULT_INDEX',
    'no_proxy',
    'npm_config_registry',
  ]);
});

test('a tool that is given up never goes on, however early that is', async () => {
  const call = { name: 'sleep', args: ['600'], cwd: '/', missing: 'it is part of every system' };

  for (let moment = 0; moment < 30; moment++) {
    const giveUp = new AbortController();
    const running = runTool(call, { env: process.env, signal: giveUp.signal } as Parameters<
      typeof runTool
    >[1]);
    for (let turn = 0; turn < moment; turn++) await new Promise(setImmediate);
    giveUp.abort();

    await expect(running).rejects.toMatchObject({ kind: 'cancelled' });
  }
});
