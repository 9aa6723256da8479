import { describe, expect, test } from 'vitest';
import { readSettings } from './settings.ts';
import type { RemoteAuthConfig } from './settings.ts';

describe('the settings of signing in', () => {
  test('may all be missing', () => {
    expect(readSettings({})).toEqual({
      parameters: {},
      skipBrowser: false,
      callbackPort: 0,
      limitMs: 300_000,
    });
  });

  test('can name a stored token, but not a file with one', () => {
    expect(readSettings({ bearer_token: 'notes-token,target=bearer_token' })).toMatchObject({
      bearerToken: 'notes-token',
    });
    expect(readSettings({ bearer_token: '', bearer_token_file: null })).not.toHaveProperty('bearerToken');
    expect(() => readSettings({ bearer_token_file: '/home/ada/token' })).toThrow('a token in a file');
    expect(() => readSettings({ bearer_token: 'the-token-itself' })).toThrow('NAME,target=VARIABLE');
  });

  test('are read as the original writes them', () => {
    const settings = readSettings({
      issuer: 'https://issuer.example/a',
      client_id: 'mine',
      client_secret: 'stored,target=SECRET',
      scopes: ['a', 'b'],
      use_pkce: false,
      skip_browser: true,
      callback_port: 8666,
      timeout: '1m30s',
      oauth_params: { audience: 'notes' },
    });

    expect(settings).toEqual({
      issuer: 'https://issuer.example/a',
      clientId: 'mine',
      clientSecret: 'stored',
      scopes: ['a', 'b'],
      parameters: { audience: 'notes' },
      skipBrowser: true,
      callbackPort: 8666,
      limitMs: 90_000,
    });
  });

  test.each([
    ['5m', 300_000],
    ['500ms', 500],
    ['1.5h', 3_600_000],
    [30_000_000_000, 30_000],
  ])('have a timeout of %s', (timeout, limitMs) => {
    expect(readSettings({ timeout }).limitMs).toBe(limitMs);
  });

  test.each<[string, RemoteAuthConfig, string]>([
    ['an issuer over plain http', { issuer: 'http://issuer.example' }, 'issuer is not an https URL'],
    ['an issuer that is no URL', { issuer: 'issuer' }, 'issuer is not an https URL'],
    [
      'half of the endpoints',
      { token_url: 'https://a.example', client_id: 'a' },
      'authorize_url and token_url must be set together',
    ],
    [
      'endpoints without a client',
      { authorize_url: 'https://a.example', token_url: 'https://a.example' },
      'authorize_url and token_url require a client_id',
    ],
    [
      'a secret without a client',
      { client_secret: 'a,target=B' },
      'an OAuth client secret requires a client_id',
    ],
    [
      'a secret itself',
      { client_id: 'a', client_secret: 'hush' },
      'a secret must have the form NAME,target=VARIABLE',
    ],
    [
      'a secret in a file',
      { client_secret_file: '/a' },
      'a run config cannot make ToolHive read the client secret in /a',
    ],
    ['a state of its own', { oauth_params: { State: 'a' } }, 'oauth_params cannot set State'],
    ['a strange timeout', { timeout: 'soon' }, 'the sign-in timeout is not a duration'],
    ['a timeout with more in it', { timeout: '5m or so' }, 'the sign-in timeout is not a duration'],
    ['no time', { timeout: 0 }, 'the sign-in timeout is not a duration'],
  ])('are refused with %s', (_what, config, message) => {
    expect(() => readSettings(config)).toThrow(message);
  });
});
