import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { RunConfig } from '@toolhive/contract/run-config';
import type { NetworkDecision } from '@toolhive/contract/network';
import type { PermissionProfile } from '@toolhive/contract/permission-profile';
import type { EgressDecision } from '@toolhive/runtime/egress';
import { Rules } from '@toolhive/runtime/outbound-rules';
import { History } from '@toolhive/history/history';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { grantedNetworkOf, networkOf } from '../permissions/network.ts';
import { aRunConfig } from '../testing/run-config.ts';
import { NetworkDecisions } from './decisions.ts';
import { proposalOf as proposalFrom, requireProposed, withKept, withLearned } from './learning.ts';
import { withChange } from './permissions.ts';
import { WorkloadEgress } from './workload-egress.ts';
import { WorkloadDatabase } from '@toolhive/state/workload-database';
import { newWorkloadId } from '@toolhive/state/workload-id';
import type { WorkloadId } from '@toolhive/state/workload-id';

const log = pino({ level: 'silent' });
const allowed: EgressDecision = { host: 'api.example', port: 443, verdict: 'allowed', rule: 'public hosts' };
const denied: EgressDecision = {
  host: 'evil.example',
  verdict: 'denied',
  reason: 'no rule allows this host',
  missing: 'host',
};

let folder: string;
let path: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'thv-network-'));
  path = join(folder, 'workloads.db');
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const [a, b] = [newWorkloadId(), newWorkloadId()];

async function openDecisions(isKnown = (_id: WorkloadId) => true): Promise<NetworkDecisions> {
  const database = await WorkloadDatabase.open(path, log);
  const decisions = new NetworkDecisions(database, join(folder, 'earlier.db'), { log, isKnown });
  const dispose = decisions[Symbol.dispose].bind(decisions);
  return Object.assign(decisions, {
    [Symbol.dispose]() {
      dispose();
      database[Symbol.dispose]();
    },
  });
}

const openHistory = (): Promise<History> =>
  History.open(join(folder, 'history.db'), {
    log,
    now: () => new Date(),
    isKnown: () => true,
    withoutSecrets: (text) => text,
  });

describe('network decisions', () => {
  test('are counted by host, port, and verdict, the latest first', async () => {
    using decisions = await openDecisions();

    const first = decisions.record(a, allowed, undefined);
    const second = decisions.record(a, denied, 'thv permission allow a evil.example');
    const third = decisions.record(a, allowed, undefined);
    decisions.addTraffic(a, allowed, { sent: 10, received: 20 });

    expect([first, second, third].map(({ isNew }) => isNew)).toEqual([true, true, false]);
    expect(decisions.list(a)).toMatchObject([
      { host: 'api.example', port: 443, count: 2, sent_bytes: 10, received_bytes: 20 },
      { host: 'evil.example', count: 1, fix: 'thv permission allow a evil.example' },
    ]);
    expect(decisions.list(a, 'denied').map(({ host }) => host)).toEqual(['evil.example']);
    expect(decisions.list(b)).toEqual([]);
  });

  test('are not stored of a workload that has been removed meanwhile', async () => {
    {
      using decisions = await openDecisions((id) => id !== b);
      decisions.record(b, allowed, undefined);
      decisions.forget(b);
      decisions.record(b, allowed, undefined);
      decisions.addTraffic(b, allowed, { sent: 1, received: 1 });
    }
    using decisions = await openDecisions();

    expect(decisions.ids()).toEqual([]);
  });

  test('outlive the daemon, but not the workload', async () => {
    {
      using decisions = await openDecisions();
      decisions.record(a, allowed, undefined);
      decisions.record(b, allowed, undefined);
      decisions.forget(b);
    }
    using decisions = await openDecisions();

    expect(decisions.list(a)).toMatchObject([{ host: 'api.example', count: 1 }]);
    expect(decisions.list(b)).toEqual([]);
  });

  test('of a server that tries any number of hosts are limited', async () => {
    using decisions = await openDecisions();

    for (let index = 0; index < 1_500; index++) {
      decisions.record(a, { ...denied, host: `h${index}.example` }, undefined);
    }

    expect(decisions.list(a)).toHaveLength(1_000);
    expect(decisions.list(a)[0]?.host).toBe('h1499.example');
  });

  test('can be watched', async () => {
    using decisions = await openDecisions();
    const stop = new AbortController();
    const seen: string[] = [];
    const watching = (async () => {
      for await (const { event } of decisions.watch(a, 'denied', stop.signal)) {
        seen.push(event.decision.host);
        if (seen.length === 2) stop.abort();
      }
    })();

    decisions.record(a, denied, undefined);
    decisions.record(b, denied, undefined);
    decisions.record(a, allowed, undefined);
    decisions.record(a, { ...denied, host: 'last.example' }, undefined);
    await watching;

    expect(seen).toEqual(['evil.example', 'last.example']);
  });

  test('in a damaged file are set aside', async () => {
    await writeFile(path, 'no database at all, and longer than a header of one would be');

    using decisions = await openDecisions();
    decisions.record(a, allowed, undefined);

    expect(decisions.list(a)).toHaveLength(1);
    expect((await readdir(folder)).length).toBeGreaterThan(1);
  });
});

describe('the egress of a workload', () => {
  const withHosts = (...hosts: string[]): RunConfig =>
    aRunConfig({ permission_profile: { network: { outbound: { allow_host: hosts } } } });

  test('follows the run config as it is', async () => {
    using decisions = await openDecisions();
    using history = await openHistory();
    let current = withHosts('a.example');
    const options = {
      decisions,
      history,
      watch: () => ({ [Symbol.dispose]() {} }),
      current: () => current,
      onDenial: () => {},
    };
    const egress = new WorkloadEgress({ id: a, runConfig: current }, options, () => {});
    const before = egress.rules.forName('b.example').isAllowed;

    current = withHosts('a.example', 'b.example');

    expect([before, egress.rules.forName('b.example').isAllowed]).toEqual([false, true]);
  });

  test('keeps its rules when the workload goes, or gets another kind of network', async () => {
    using decisions = await openDecisions();
    using history = await openHistory();
    let current: RunConfig | undefined = withHosts('a.example');
    const options = {
      decisions,
      history,
      watch: () => ({ [Symbol.dispose]() {} }),
      current: () => current,
      onDenial: () => {},
    };
    const egress = new WorkloadEgress({ id: a, runConfig: withHosts('a.example') }, options, () => {});

    for (const next of [undefined, aRunConfig({ permission_profile: {} })]) {
      current = next;
      expect(egress.rules.forName('a.example').isAllowed).toBe(true);
      expect(egress.rules.forName('b.example').isAllowed).toBe(false);
    }
  });

  test('explains each denial once, with the command that allows it', async () => {
    using decisions = await openDecisions();
    using history = await openHistory();
    const lines: string[] = [];
    const denials: string[] = [];
    const options = {
      decisions,
      history,
      watch: () => ({ [Symbol.dispose]() {} }),
      current: () => undefined,
      onDenial: (name: string, { host }: { host: string }) => void denials.push(`${name} ${host}`),
    };
    const egress = new WorkloadEgress({ id: a, runConfig: withHosts('a.example') }, options, (text) =>
      lines.push(text),
    );

    egress.record(denied);
    egress.record(denied);
    egress.record({ ...denied, host: '10.0.0.5', port: 5432 });
    egress.record({
      ...denied,
      host: '127.0.0.1',
      port: 80,
      reason: 'it is a loopback address',
      missing: 'nothing',
    });
    egress.record({ ...denied, host: '169.254.169.254', port: 80, reason: 'it is a link-local address' });
    egress.record({
      ...denied,
      host: 'db.example',
      port: 443,
      reason: 'the name resolves to 10.0.0.6',
      missing: 'address',
      address: '10.0.0.6',
    });
    egress.record({
      ...denied,
      host: 'x.example',
      port: 443,
      reason: 'the name resolves to 127.0.0.1',
      missing: 'nothing',
      address: '127.0.0.1',
    });
    egress.record({
      ...denied,
      host: 'a.example',
      port: 443,
      reason: 'the connection is for "b.example"',
      missing: 'nothing',
    });
    egress.record({ ...denied, host: '$(touch x).example' });
    egress.record({
      ...denied,
      host: 'a.example',
      port: 22,
      reason: 'port 22 is not allowed',
      missing: 'port',
    });

    const { name } = aRunConfig();
    expect(lines).toEqual([
      `denied evil.example: no rule allows this host; to allow it: thv permission allow ${name} evil.example`,
      `denied 10.0.0.5:5432: no rule allows this host; to allow it: thv permission allow ${name} 10.0.0.5:5432`,
      'denied 127.0.0.1:80: it is a loopback address',
      'denied 169.254.169.254:80: it is a link-local address',
      `denied db.example:443: the name resolves to 10.0.0.6; to allow it: thv permission allow ${name} 10.0.0.6:443`,
      'denied x.example:443: the name resolves to 127.0.0.1',
      'denied a.example:443: the connection is for "b.example"',
      'denied $(touch x).example: no rule allows this host',
      `denied a.example:22: port 22 is not allowed; to allow it: thv permission allow ${name} a.example:22`,
    ]);
    expect(denials).toHaveLength(9);
  });
});

test('a server that tries any number of hosts fills neither its log nor the events', async () => {
  using decisions = await openDecisions();
  using history = await openHistory();
  let [lines, denials] = [0, 0];
  const options = {
    decisions,
    history,
    watch: () => ({ [Symbol.dispose]() {} }),
    current: () => undefined,
    onDenial: () => void (denials += 1),
  };
  const egress = new WorkloadEgress({ id: a, runConfig: aRunConfig() }, options, () => void (lines += 1));

  for (let index = 0; index < 5_000; index++) egress.record({ ...denied, host: `h${index}.example` });

  expect([lines, denials]).toEqual([100, 100]);
  const hosts = await history.read(new Map([[a, 'echo']]), { by: 'host', totals: true });
  expect(hosts.series.length).toBe(41);
  expect(hosts.series[0]).toMatchObject({ is_rest: true, denied: 4_960, calls: 0 });
});

describe('a change of the rules', () => {
  const rulesOf = ({ permission_profile: profile }: RunConfig) => profile?.network?.outbound;
  const listed = aRunConfig({
    permission_profile: {
      read: ['/data'],
      network: { outbound: { allow_host: ['a.example', 'b.example'], allow_port: [443] } },
    },
  });
  const open = aRunConfig({
    permission_profile: { name: 'public', network: { outbound: { allow_port: [80, 443] } } },
  });
  const none = aRunConfig({ permission_profile: {} });

  test('adds and removes hosts and ports, and leaves the rest of the profile alone', () => {
    const changed = withChange(listed, { allow: ['c.example:5432', '10.0.0.0/8'], deny: ['a.example'] }, []);

    expect(rulesOf(changed)).toEqual({
      allow_host: ['b.example', 'c.example', '10.0.0.0/8'],
      allow_port: [443, 5432],
    });
    expect(changed.permission_profile?.read).toEqual(['/data']);
  });

  test('gives a server without a network one, and takes it again with the last host', () => {
    const changed = withChange(none, { allow: ['a.example'] }, []);

    expect(rulesOf(changed)).toEqual({ allow_host: ['a.example'], allow_port: [80, 443] });
    expect(rulesOf(withChange(changed, { deny: ['a.example'] }, []))).toEqual({});
  });

  test('gives a server a network that has none by its mode', () => {
    const byMode = aRunConfig({ permission_profile: { network: { mode: 'none' } } });

    const changed = withChange(byMode, { allow: ['a.example:443'] }, []);

    expect(networkOf(changed)).toMatchObject({ rules: { hosts: ['a.example'] } });
    expect(networkOf(withChange(changed, { deny: ['a.example'] }, []))).toEqual({ kind: 'none' });
  });

  test('limits a server to the hosts that it has reached', () => {
    const times = { count: 1, first_at: '', last_at: '', sent_bytes: 0, received_bytes: 0 };
    const reached = ['b.example', 'a.example', 'a.example'].map((host) => ({
      ...times,
      host,
      port: 443,
      verdict: 'allowed' as const,
    }));

    const changed = withChange(open, { tighten: true }, reached);

    expect(rulesOf(changed)).toEqual({ allow_host: ['a.example', 'b.example'], allow_port: [443] });
    expect(changed.permission_profile).not.toHaveProperty('name');
    expect(() => withChange(open, { tighten: true }, [])).toThrow('has not connected to any host yet');
  });

  test.each([
    [listed, { allow: ['not a host'] }, 'is not a host'],
    [listed, { allow: ['a.example:99999'] }, 'has no valid port'],
    [listed, { deny: ['x.example'] }, 'is not in the allowlist'],
    [open, { deny: ['a.example'] }, 'can reach every public host'],
    [open, { allow: ['10.0.0.5:5432'] }, 'cannot be added while every public host is allowed'],
    [
      aRunConfig({ permission_profile: { network: { mode: 'host' } } }),
      { allow: ['a.example'] },
      'without rules',
    ],
  ])('that makes no sense is refused', (runConfig, change, message) => {
    expect(() => withChange(runConfig, change, [])).toThrow(message);
  });
});

describe('learning mode', () => {
  const since = '2026-01-31T09:30:00.000Z';
  const learning = (permission_profile: PermissionProfile, more: Partial<RunConfig> = {}): RunConfig =>
    aRunConfig({ permission_profile, learning: { since }, ...more });
  const reached = (host: string, port = 443, changes: Partial<NetworkDecision> = {}): NetworkDecision => ({
    host,
    port,
    verdict: 'allowed',
    count: 1,
    first_at: since,
    last_at: since,
    sent_bytes: 0,
    received_bytes: 0,
    ...changes,
  });
  const proposalOf = (
    runConfig: RunConfig,
    from: string,
    decisions: readonly NetworkDecision[],
    entry?: { name: string; permissions: PermissionProfile },
    mountUse = {},
  ) => proposalFrom(runConfig, { since: from, decisions, entry, limits: [], mountUse });
  const outboundOf = ({ permission_profile: profile }: RunConfig) => profile?.network?.outbound;

  test.each<[string, PermissionProfile, Partial<RunConfig>]>([
    ['without a network', {}, {}],
    ['with an open network', { network: { outbound: { insecure_allow_all: true } } }, {}],
    ['with the network of the machine', { network: { mode: 'host' } }, {}],
    ['with rules', { network: { outbound: { allow_host: ['a.example'], allow_port: [9999] } } }, {}],
    ['without isolation', { network: { outbound: { allow_port: [443] } } }, { isolate_network: false }],
  ])('lets a server %s reach every public host, and nothing else', async (_what, profile, more) => {
    using decisions = await openDecisions();
    using history = await openHistory();
    const runConfig = learning(profile, more);
    const options = {
      decisions,
      history,
      watch: () => ({ [Symbol.dispose]() {} }),
      current: () => runConfig,
      onDenial: () => {},
    };

    const { rules } = new WorkloadEgress({ id: a, runConfig }, options, () => {});

    expect(rules.forConnection({ name: 'any.example' }, 5432)).toMatchObject({
      isAllowed: true,
      mayBePrivate: false,
    });
    expect(rules.forConnection({ address: '10.0.0.5' }, 5432)).toMatchObject({ mayBePrivate: false });
    expect(rules.listsAddress('10.0.0.5')).toBe(false);
    expect(rules.forConnection({ name: 'any.example' }, 4444)).toMatchObject({ isAllowed: false });
    expect(networkOf(runConfig)).toMatchObject({ kind: 'rules' });
  });

  test('leaves the private addresses and the ports of the profile as they are', () => {
    const profile = { network: { outbound: { allow_host: ['10.0.0.0/8'], allow_port: [9999] } } };
    const grant = networkOf(learning(profile));
    if (grant.kind !== 'rules') throw new Error('has no rules');
    const rules = new Rules(grant.rules);

    expect(rules.forConnection({ address: '10.0.0.5' }, 9999)).toMatchObject({
      isAllowed: true,
      mayBePrivate: true,
    });
    expect(rules.listsAddress('10.0.0.5')).toBe(true);
    expect(rules.forConnection({ address: '192.168.0.1' }, 9999)).toMatchObject({ mayBePrivate: false });
  });

  test('proposes exactly what was reached since it began', () => {
    const profile = {
      read: ['/data'],
      network: { outbound: { allow_host: ['a.example', '*.old.example'], allow_port: [443] } },
    };
    const decisions = [
      reached('b.example', 5432),
      reached('a.example'),
      reached('denied.example', 443, { verdict: 'denied' }),
      reached('before.example', 80, { last_at: '2026-01-31T09:29:59.999Z' }),
    ];

    const proposal = proposalOf(learning(profile), since, decisions, undefined);

    expect(proposal).toMatchObject({
      network: { hosts: ['a.example', 'b.example'], ports: [443, 5432] },
      profile: {
        read: ['/data'],
        network: { outbound: { allow_host: ['a.example', 'b.example'], allow_port: [443, 5432] } },
      },
      compared_with: { network: { kind: 'rules', hosts: ['a.example', '*.old.example'], ports: [443] } },
      hosts: { added: ['b.example'], removed: ['*.old.example'], kept: ['a.example'] },
      ports: { added: [5432], removed: [], kept: [443] },
      complete: true,
    });
    expect(proposal.compared_with).not.toHaveProperty('registry_entry');
  });

  test('compares with the registry entry of the server', () => {
    const permissions = { network: { outbound: { allow_host: ['a.example'], allow_port: [443] } } };
    const entry = { name: 'weather', permissions };

    const proposal = proposalOf(learning({}), since, [reached('b.example')], entry);

    expect(proposal.compared_with).toMatchObject({ registry_entry: 'weather', network: { kind: 'rules' } });
    expect(proposal.hosts).toEqual({ added: ['b.example'], removed: ['a.example'], kept: [] });
  });

  test.each([
    ['a pattern', '*.herokuapp.example'],
    ['another pattern', '.example'],
    ['characters that no host has', 'a b.example'],
    ['a private address that the profile does not list', '10.0.0.5'],
    ['a metadata address', '169.254.169.254'],
  ])('takes over no host that is %s', (_what, host) => {
    const decisions = [reached(host, 5432), reached('a.example')];

    const { network } = proposalOf(learning({}), since, decisions, undefined);
    const tightened = withChange(aRunConfig({ permission_profile: {} }), { tighten: true }, decisions);

    expect(network).toEqual({ hosts: ['a.example'], ports: [443] });
    expect(outboundOf(tightened)).toEqual({ allow_host: ['a.example'], allow_port: [443] });
  });

  test('keeps listed addresses that a name may have led to, and narrows those that were used directly', () => {
    const profile = { network: { outbound: { allow_host: ['10.0.0.0/8'], allow_port: [443] } } };
    const hostsOf = (...decisions: NetworkDecision[]) =>
      proposalOf(learning(profile), since, decisions, undefined).network.hosts;

    expect(hostsOf(reached('10.0.0.5'))).toEqual(['10.0.0.5']);
    expect(hostsOf(reached('10.0.0.5'), reached('db.example'))).toEqual(['10.0.0.0/8', 'db.example']);
  });

  test('proposes no network if nothing was reached', () => {
    const runConfig = learning({ name: 'public', network: { outbound: { allow_port: [443] } } });

    const { network, profile } = proposalOf(runConfig, since, [], undefined);

    expect(network).toEqual({ hosts: [], ports: [] });
    expect(grantedNetworkOf({ permission_profile: profile })).toEqual({ kind: 'none' });
  });

  test('says that hosts may be missing as soon as the record is full', async () => {
    using decisions = await openDecisions();
    const from = new Date().toISOString();
    const completeAfter = (count: number): boolean => {
      for (let index = 0; index < count; index++) {
        decisions.record(a, { ...allowed, host: `h${index}.example` }, undefined);
      }
      return proposalOf(learning({}), from, decisions.list(a), undefined).complete;
    };

    expect([completeAfter(999), completeAfter(1_200)]).toEqual([true, false]);
  });

  test.each<[string, PermissionProfile, Partial<RunConfig>]>([
    ['the network of the machine', { network: { mode: 'host' } }, {}],
    ['no isolation', { network: { outbound: { allow_port: [443] } } }, { isolate_network: false }],
    ['everything', { name: 'network', network: { outbound: { insecure_allow_all: true } } }, {}],
  ])('leaves nothing of a profile with %s when its result is applied', (_what, profile, more) => {
    const applied = withLearned(learning(profile, more), { hosts: ['a.example'], ports: [443] });

    expect(applied.learning).toBeUndefined();
    expect(networkOf(applied)).toEqual({
      kind: 'rules',
      rules: { hosts: ['a.example'], ports: [443] },
    });
  });

  test('keeps a mount whose use is unknown, and proposes only what was used of the others', () => {
    const profile = { read: ['/docs'], write: ['/data', '/logs', '/spare', '/later'] };
    const use = { read: false, written: false, files: [] };
    const mountUse = {
      '/docs': { ...use, read: true, written: true, files: ['a'] }, // another program wrote
      '/data': { ...use, written: true },
      '/logs': { ...use, read: true },
      '/spare': use,
      '/later': { ...use, gap: 'there were too many accesses to record' },
    };

    const { mounts, profile: proposed } = proposalOf(learning(profile), since, [], undefined, mountUse);
    const unknown = proposalOf(learning(profile), since, [], undefined, {});

    expect(mounts.map(({ target, used }) => [target, used])).toEqual([
      ['/docs', 'read'],
      ['/data', 'write'],
      ['/logs', 'read'],
      ['/spare', 'none'],
      ['/later', 'write'],
    ]);
    expect(proposed).toMatchObject({ read: ['/docs', '/logs'], write: ['/data', '/later'] });
    expect(unknown.profile).toMatchObject(profile);
    expect(unknown.mounts.every((mount) => mount.unknown !== undefined)).toBe(true);
  });

  test.each([
    ['/other', 'read', 'nothing is mounted at /other'],
    ['/docs', 'write', '/docs is mounted for reading only'],
  ] as const)('grants no mount: %s (%s)', (target, access, message) => {
    const runConfig = learning({ read: ['/docs'], write: ['/data'] });

    expect(() => withKept(runConfig, [{ target, access }])).toThrow(message);
    expect(withKept(runConfig, []).permission_profile).toMatchObject({ read: [], write: [] });
  });

  test('applies nothing but what it proposes', () => {
    const proposal = proposalOf(learning({}), since, [reached('a.example')], undefined);

    expect(() => requireProposed({ hosts: ['a.example'], ports: [443] }, proposal)).not.toThrow();
    expect(() => requireProposed({ hosts: ['*.example'], ports: [443] }, proposal)).toThrow('*.example');
    expect(() => requireProposed({ hosts: ['a.example'], ports: [22] }, proposal)).toThrow(
      '22 was not reached',
    );
    expect(() => withLearned(learning({}), { hosts: ['a.example'], ports: [] })).toThrow('ports is empty');
  });

  test('excludes tightening', () => {
    expect(() => withChange(learning({}), { tighten: true }, [reached('a.example')])).toThrow(
      'is in learning mode',
    );
  });
});
