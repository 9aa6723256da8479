import { describe, expect, test } from 'vitest';
import { mergeTemplate, repeatedItems, withoutNulls } from './merge.ts';
import { namesOf } from './names.ts';

const container = (fields: object): object => ({ spec: { containers: [{ name: 'mcp', ...fields }] } });

describe('a pod template', () => {
  test('can have one port with two protocols', () => {
    const base = container({ ports: [{ name: 'http', containerPort: 53, protocol: 'TCP' }] });
    const overlay = container({
      ports: [
        { containerPort: 53, protocol: 'UDP' },
        { containerPort: 53, hostPort: 5353 },
      ],
    });

    expect(repeatedItems(overlay)).toEqual([]);
    expect(mergeTemplate(base, overlay)).toEqual(
      container({
        ports: [
          { name: 'http', containerPort: 53, protocol: 'TCP', hostPort: 5353 },
          { containerPort: 53, protocol: 'UDP' },
        ],
      }),
    );
  });

  test('can have two constraints for one topology', () => {
    const topologyKey = 'kubernetes.io/hostname';
    const constraints = [{ topologyKey }, { topologyKey, whenUnsatisfiable: 'ScheduleAnyway' }];

    expect(repeatedItems({ spec: { topologySpreadConstraints: constraints } })).toEqual([]);
  });

  test.each([
    [
      { ports: [{ containerPort: 53 }, { containerPort: 53, protocol: 'TCP' }] },
      'ports with containerPort 53 and',
    ],
    [{ volumeMounts: [{ mountPath: '/a' }, { mountPath: '/a' }] }, 'volumeMounts with mountPath /a'],
    [{ env: [{ name: 'A' }, { name: 'A' }] }, 'env with name A'],
  ])('names what is there twice: %j', (fields, message) => {
    expect(repeatedItems(container(fields))).toEqual([expect.stringContaining(message)]);
  });

  test('without values for some fields has the others', () => {
    const written = {
      metadata: { annotations: null, labels: { team: 'a' } },
      spec: { volumes: null, nodeSelector: null, containers: [{ name: 'mcp', env: null, image: '' }] },
    };

    expect(withoutNulls(written)).toEqual({
      metadata: { labels: { team: 'a' } },
      spec: { containers: [{ name: 'mcp', image: '' }] },
    });
  });
});

test('the policies of servers whose names differ in an ending differ, too', () => {
  const endings = ['', '-proxy', '-server', '-proxy-server', '-server-proxy'];

  const policies = endings.flatMap((ending) => {
    const { serverPolicy, proxyPolicy } = namesOf('MCPServer', `github${ending}`);
    return [serverPolicy, proxyPolicy];
  });

  expect(new Set(policies).size).toBe(2 * endings.length);
});
