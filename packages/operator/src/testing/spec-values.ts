import { valuesOf } from '@toolhive/contract/testing/schema-values';
import type { JsonSchema } from '@toolhive/contract/testing/schema-values';
import * as fc from 'fast-check';
import { schemaOf } from '../crds/crds.ts';
import type { Resource } from '../crds/resource.ts';

const oneOf = fc.constantFrom<unknown[]>;
/** Names that have gone wrong somewhere before, or that no object can have. */
const oddNames = [
  '',
  '.',
  '..',
  'a/b',
  '../../secrets',
  'UPPER',
  '__proto__',
  'constructor',
  'ä',
  'n'.repeat(300),
];
const names = fc.oneof(
  { weight: 6, arbitrary: oneOf('there', 'there', 'missing') },
  { weight: 1, arbitrary: oneOf(...oddNames) },
);
const texts = fc.oneof(
  { weight: 3, arbitrary: oneOf('a', 'b', 'key') },
  { weight: 1, arbitrary: oneOf(...oddNames, '0', '-1', ' ', 'a=b', 'a\nb', '${A}', '\u0000') },
);
const urls = oneOf(
  'https://id.example.com',
  'http://id.example.com',
  'https://[',
  'javascript:0',
  '',
  'https://a@b/c?d#e',
);
const paths = oneOf('/data', '/data', '/tmp', 'data', '/', '', '/a/../b', '/etc/runconfig');
const container = fc.record(
  {
    name: oneOf('mcp', 'sidecar', '', 'A'),
    image: oneOf('example/other:1', ''),
    env: fc.array(fc.record({ name: texts, value: oneOf('1', 1, null) }), { maxLength: 2 }),
    resources: oneOf({ limits: { memory: '1Gi' } }, { limits: { memory: 'much' } }),
  },
  { requiredKeys: ['name'] },
);
const templates = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      spec: fc.record(
        { containers: fc.array(container, { maxLength: 2 }), nodeSelector: oneOf({ a: 'b' }, null, 'a') },
        { requiredKeys: [] },
      ),
    }),
  },
  {
    weight: 1,
    arbitrary: oneOf(
      { metadata: null },
      { metadata: { labels: { app: 'other' } } },
      { spec: { hostNetwork: true } },
    ),
  },
  { weight: 1, arbitrary: fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 3 }), { maxKeys: 3 }) },
);

const words: Record<string, fc.Arbitrary<unknown>> = {
  name: fc.oneof(names, texts),
  key: fc.oneof({ weight: 3, arbitrary: fc.constant('key') }, { weight: 1, arbitrary: texts }),
  image: oneOf('example/server:1', 'example/server:1', '', 'UPPER', 'a b'),
  env: fc.array(fc.record({ name: texts, value: texts }), { maxLength: 3 }),
  groupRef: names,
  serviceAccount: names,
  targetEnvName: texts,
  hostPath: paths,
  mountPath: paths,
  issuer: urls,
  jwksUrl: urls,
  introspectionUrl: urls,
  resourceUrl: urls,
  remoteURL: oneOf('https://mcp.example.com/mcp', 'http://10.0.0.1', 'https://', 'https://['),
  endpoint: oneOf('https://collector.example.com', 'http://127.0.0.1', 'https://['),
  repository: oneOf('https://127.0.0.1/a.git', 'file:///etc', 'ssh://git@example.com/a'),
  path: oneOf('registry.json', '../a.json', '/etc/a.json'),
  interval: oneOf('1h', '0s', '1.5h30m', '999999999999h', '1ns'),
  policies: oneOf(['permit(principal, action, resource);'], ['permit'], ['']),
  entitiesJson: oneOf('[]', '{', '{"a":1}', ''),
  headers: fc.array(oneOf('a=b', 'a', '=', ''), { maxLength: 2 }),
  samplingRate: oneOf('0.05', '1', '2', 'NaN', '', '-1'),
  cpu: oneOf('500m', '1', 'much', '-1'),
  memory: oneOf('128Mi', '1.5Gi', 'much', '1e-9'),
  labels: fc.dictionary(
    oneOf('team', 'app', 'a b', '').map(String),
    oneOf('red', 'a b', 'a'.repeat(64)).map(String),
  ),
  podTemplateSpec: templates,
};

/** Specs that the definition of a kind admits: usual ones, odd ones, and those that break only rules about several fields. */
export function specsOf(resource: Resource): fc.Arbitrary<Record<string, unknown>> {
  const schema = schemaOf(resource).properties.spec as JsonSchema; // the same document
  const context = {
    schemas: {},
    words,
    usual: ['targetPort', 'inline', 'kubernetes', 'configMap', 'configmap', 'tokenExchange'],
  };
  return valuesOf(schema, context) as fc.Arbitrary<Record<string, unknown>>; // the type of every spec is object
}
