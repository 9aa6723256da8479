import type { RunConfig } from '@toolhive/contract/run-config';
import { risksIn } from '@toolhive/contract/risk';
import type { Risk } from '@toolhive/contract/risk';
import type { PinnedMount } from '@toolhive/runtime/mount-source';
import { homedir } from 'node:os';
import { describe, expect, test } from 'vitest';
import { aRunConfig } from '../testing/run-config.ts';
import { dangersOf, requireConsent } from './consent.ts';

const mountOf = (source: string, path = source, readOnly = true): PinnedMount => ({
  source,
  target: '/data',
  readOnly,
  pin: { path, device: '1', inode: '1' },
});

/** The risks that have to be accepted, as a client reads them from the refusal. */
function requiredFor(
  runConfig: RunConfig,
  mounts: PinnedMount[] = [],
  accepted: Risk[] = [],
  present = dangersOf(aRunConfig(), []),
): Risk[] {
  try {
    requireConsent(runConfig, mounts, { accepted, present });
    return [];
  } catch (error) {
    return risksIn(error instanceof Error ? error.message : '');
  }
}

describe('consent', () => {
  test.each<[string, Risk, string?]>([
    ['/', 'mount-root'],
    ['/run/docker.sock', 'mount-engine-socket'],
    ['/proc', 'mount-system'],
    ['/etc', 'mount-system'],
    ['/home/ada', 'mount-home'],
    ['/Users/ada', 'mount-home'],
    [`${homedir()}/.ssh`, 'mount-credentials'],
    ['/srv/link', 'mount-home', '/home/ada'],
    ['/srv/link', 'mount-root', '/'],
  ])('is required for a mount of %s (%s)', (source, risk, path) => {
    expect(requiredFor(aRunConfig(), [mountOf(source, path)])).toEqual([risk]);
  });

  test.each<[Risk, Partial<RunConfig>]>([
    ['privileged', { permission_profile: { privileged: true } }],
    ['local-ports', { local_ports: [5432] }],
    ['publish-ports', { publish: ['8000'] }],
    ['allow-origins', { allowed_origins: ['https://app.example'] }],
    ['host-network', { permission_profile: { network: { mode: 'host' } } }],
    ['host-network', { permission_profile: { network: { mode: 'ns:/proc/1/ns/net' } } }],
    ['open-network', { permission_profile: { network: { outbound: { insecure_allow_all: true } } } }],
    [
      'open-network',
      { isolate_network: false, permission_profile: { network: { outbound: { allow_port: [443] } } } },
    ],
  ])('is required for %s', (risk, changes) => {
    expect(requiredFor(aRunConfig(changes))).toEqual([risk]);
    expect(requiredFor(aRunConfig(changes), [], [risk])).toEqual([]);
  });

  const secret = 'github-token,target=x';
  const evil = 'https://evil.example/mcp';
  const rules = { network: { outbound: { allow_host: ['evil.example'] } } };
  test.each<[string, Partial<RunConfig>, string]>([
    [
      'the client secret for an issuer',
      { oidc_config: { Issuer: evil, ClientSecret: secret } },
      'the proxy sends the secret github-token to evil.example',
    ],
    [
      'the client secret for a token exchange',
      { token_exchange_config: { token_url: evil, client_secret: secret } },
      'the proxy sends the secret github-token to evil.example',
    ],
    [
      'the client secret for a remote server',
      { remote_url: evil, remote_auth_config: { client_secret: secret } },
      'the proxy sends the secret github-token to evil.example',
    ],
    [
      'a header of a remote server',
      {
        remote_url: evil,
        remote_auth_config: {
          headers: [{ name: 'x', description: '', required: false, secret: true, default: secret }],
        },
      },
      'the proxy sends the secret github-token to evil.example',
    ],
    [
      'an environment variable in traces',
      { telemetry_config: { endpoint: 'evil.example:4318', environmentVariables: ['HOME'] } },
      'the proxy sends the environment variable HOME to evil.example:4318',
    ],
    [
      'a secret of a server with a network',
      { secrets: [secret], permission_profile: rules },
      'the secret github-token is passed to a server that reaches evil.example',
    ],
    [
      'a name with control characters',
      { telemetry_config: { endpoint: 'evil.example', environmentVariables: ['A\u001b[2J; B'] } },
      'the proxy sends the environment variable "A\\u001b[2J, B" to evil.example',
    ],
  ])('is required for a run config that sends %s', (_what, changes, text) => {
    const runConfig = aRunConfig(changes);

    expect(dangersOf(runConfig, [])).toEqual([{ risk: 'send-secrets', text }]);
    expect(requiredFor(runConfig)).toEqual(['send-secrets']);
    expect(requiredFor(runConfig, [], ['send-secrets'])).toEqual([]);
    expect(requiredFor(runConfig, [], [], dangersOf(runConfig, []))).toEqual([]);
  });

  test('is not required for a secret of a server without a network', () => {
    expect(requiredFor(aRunConfig({ secrets: [secret] }))).toEqual([]);
  });

  test('is not required for anything else', () => {
    const profile = { network: { outbound: { allow_host: ['a.example'] } } };

    const required = requiredFor(aRunConfig({ permission_profile: profile }), [
      mountOf('/srv/data', '/srv/data', false),
      mountOf('/home/ada/notes'),
    ]);

    expect(required).toEqual([]);
  });

  test('for one risk is none for another', () => {
    const runConfig = aRunConfig({ permission_profile: { privileged: true } });
    const mounts = [mountOf('/'), mountOf('/home/ada')];

    expect(requiredFor(runConfig, mounts, ['mount-home'])).toEqual(['mount-root', 'privileged']);
  });

  test('was given for what a workload has, but not for more of the same kind', () => {
    const present = dangersOf(aRunConfig(), [mountOf('/home/ada')]);
    const requiredNow = (mount: PinnedMount) => requiredFor(aRunConfig(), [mount], [], present);

    expect(requiredNow(mountOf('/home/ada'))).toEqual([]);
    expect(requiredNow(mountOf('/home/ada', '/home/ada', false))).toEqual(['mount-home']);
    expect(requiredNow(mountOf('/home/eve'))).toEqual(['mount-home']);
  });

  test('is explained with each danger and what to do', () => {
    const refuse = () =>
      requireConsent(aRunConfig({ permission_profile: { privileged: true } }), [mountOf('/')], {
        accepted: [],
        present: [],
      });

    expect(refuse).toThrow(
      expect.objectContaining({
        kind: 'invalid',
        message:
          'accepted_risks must contain mount-root, privileged: the server can access /, which is every file on this machine; it gets a container without any hardening',
        hint: 'to accept that, add --accept-risks to thv run, or {"accepted_risks":["mount-root","privileged"]} to the request',
      }),
    );
  });
});
