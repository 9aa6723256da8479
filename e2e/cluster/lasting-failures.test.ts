import { join } from 'node:path';
import { expect, test } from 'vitest';
import { root } from '../testing/thv.ts';
import { describeOperator, server } from './operator-tests.ts';

describeOperator('a failure that lasts', (world) => {
  const { apply, condition, field, waitFor } = world;
  const ready = (namespace: string, object: string): Promise<string> =>
    field(
      namespace,
      object,
      `{.status.conditions[?(@.type=='Ready')].status} {.status.conditions[?(@.type=='Ready')].message}`,
    );
  const withContainer = (container: object): object => ({
    podTemplateSpec: { spec: { containers: [{ name: 'mcp', ...container }] } },
  });
  const eventsOf = (namespace: string, object: string): Promise<string> =>
    world.cluster.kubectl(['describe', '-n', namespace, object]);

  test.each([
    [
      'a typo in the pod template',
      { podTemplateSpec: { spec: { contaners: [] } } },
      /contaners: field not declared/,
    ],
    ['a text in place of a list', withContainer({ ports: 'http' }), /ports: expected list/],
    ['a number in place of a text', withContainer({ command: 7 }), /command: expected list/],
    ['an amount without a number', { resources: { limits: { memory: 'lots' } } }, /quantities must match/],
    [
      'an amount without a number in the pod template',
      withContainer({ resources: { requests: { cpu: 'half' } } }),
      /quantities must match/,
    ],
    [
      'an unknown pull policy',
      withContainer({ imagePullPolicy: 'Sometimes' }),
      /Unsupported value: "Sometimes"/,
    ],
  ])('is a condition and an event: %s', async (_what, spec, message) => {
    const namespace = await world.cluster.namespace();

    await apply(namespace, server('odd', spec));

    await expect.poll(() => ready(namespace, 'mcpserver/odd')).toMatch(/^False /);
    expect(await ready(namespace, 'mcpserver/odd')).toMatch(message);
    expect(await condition(namespace, 'mcpserver/odd', 'Ready')).toBe('InvalidPodTemplateSpec');
    await expect.poll(() => eventsOf(namespace, 'mcpserver/odd')).toMatch(/Warning +InvalidPodTemplateSpec/);
    await apply(namespace, server('odd', { podTemplateSpec: {}, resources: {} }));
    await waitFor(namespace, 'mcpserver/odd');
    expect(await eventsOf(namespace, 'mcpserver/odd')).toMatch(/Normal +DeploymentReady/);
  });

  test.each([
    ['a missing service account', { serviceAccount: 'missing' }, /serviceaccount "missing" not found/],
    [
      'Pod Security',
      withContainer({ securityContext: { privileged: true, allowPrivilegeEscalation: true } }),
      /violates PodSecurity/,
    ],
  ])('is known from events only: %s', async (_what, spec, message) => {
    const namespace = await world.cluster.namespace();

    await apply(namespace, server('odd', spec));

    await expect.poll(() => ready(namespace, 'mcpserver/odd'), { timeout: 60_000 }).toMatch(message);
    expect(await condition(namespace, 'mcpserver/odd', 'Ready')).toBe('PodNotCreated');
    await expect.poll(() => eventsOf(namespace, 'mcpserver/odd')).toMatch(/Warning +PodNotCreated/);
  });

  test('a quota is named in the condition, and its removal is noticed', async () => {
    const namespace = await world.cluster.namespace();
    await world.cluster.kubectl(['create', 'quota', 'none', '-n', namespace, '--hard=pods=0']);
    await expect.poll(() => field(namespace, 'resourcequota/none', '{.status.hard.pods}')).toBe('0');

    await apply(namespace, server('odd'));

    await expect
      .poll(() => ready(namespace, 'mcpserver/odd'), { timeout: 60_000 })
      .toMatch(/exceeded quota: none/);
    await world.cluster.kubectl(['delete', 'quota', 'none', '-n', namespace]);
    await waitFor(namespace, 'mcpserver/odd');
  });

  test('a webhook that does not answer is a condition, and the server recovers', async () => {
    const namespace = await world.cluster.namespace({ 'webhook-test': 'dead' });
    const webhook = {
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'ValidatingWebhookConfiguration',
      metadata: { name: 'dead' },
      webhooks: [
        {
          name: 'dead.example.com',
          clientConfig: { url: 'https://127.0.0.1:1/' },
          rules: [
            { apiGroups: ['apps'], apiVersions: ['v1'], resources: ['deployments'], operations: ['*'] },
          ],
          namespaceSelector: { matchLabels: { 'webhook-test': 'dead' } },
          failurePolicy: 'Fail',
          sideEffects: 'None',
          admissionReviewVersions: ['v1'],
        },
      ],
    };
    await world.cluster.kubectl(['apply', '-f', '-'], JSON.stringify(webhook));

    await apply(namespace, server('odd'));

    await expect
      .poll(() => ready(namespace, 'mcpserver/odd'), { timeout: 60_000 })
      .toMatch(/^False .*failed calling webhook "dead.example.com"/);
    await expect.poll(() => eventsOf(namespace, 'mcpserver/odd')).toMatch(/Warning +InternalError/);
    await world.cluster.kubectl(['delete', 'validatingwebhookconfiguration', 'dead']);
    await waitFor(namespace, 'mcpserver/odd');
  });

  test('all examples can be applied together, and lists show their state', async () => {
    const namespace = await world.cluster.namespace();

    await world.cluster.kubectl(['apply', '-n', namespace, '-f', join(root, 'deploy/examples')]);

    for (const object of [
      'mcpserver/weather',
      'mcpremoteproxy/weather-remote',
      'mcptoolconfig/weather',
      'mcpexternalauthconfig/weather',
      'mcpgroup/research',
    ])
      await waitFor(namespace, object);
    const list = await world.cluster.kubectl(['get', 'toolhive', '-n', namespace]);
    expect(list.match(/READY +REASON +AGE/g)).toHaveLength(6);
    expect(await world.cluster.kubectl(['get', 'tc', '-n', namespace, '--no-headers'])).toMatch(
      /^weather +1 +1 /,
    );
    expect(
      await world.cluster.kubectl(['get', 'mcps,mcprp,mcpreg,mcpg,extauth', '-n', namespace, '-o', 'name']),
    ).toContain('mcpregistry');
  });
});
