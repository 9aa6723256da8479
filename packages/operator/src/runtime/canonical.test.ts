import { expect, test } from 'vitest';
import { canonicalJson, hashOf, projection } from './canonical.ts';

const container = { name: 'mcp', env: [{ name: 'A', value: '1' }] };

test('ignores defaults, injected containers, and foreign annotations', () => {
  const wanted = { metadata: { annotations: { own: '1' } }, spec: { containers: [container] } };
  const live = {
    metadata: { annotations: { foreign: '2', own: '1' }, uid: 'x' },
    spec: {
      containers: [{ name: 'sidecar' }, { ...container, imagePullPolicy: 'Always' }],
      restartPolicy: 'Always',
    },
  };

  expect(projection(live, wanted)).toEqual(wanted);
});

test('shows a changed value and a missing item', () => {
  const wanted = { containers: [container] };

  expect(
    projection({ containers: [{ ...container, env: [{ name: 'A', value: '2' }] }] }, wanted),
  ).not.toEqual(wanted);
  expect(projection({ containers: [{ name: 'other' }] }, wanted)).not.toEqual(wanted);
});

test('treats equal amounts of resources like each other, whatever their unit', () => {
  const wanted = { limits: { cpu: '1000m', memory: '0.5Gi', 'nvidia.com/gpu': 1 }, args: ['1000m'] };

  expect(
    projection({ limits: { cpu: '1', memory: '512Mi', 'nvidia.com/gpu': '1' }, args: ['1000m'] }, wanted),
  ).toEqual(wanted);
  expect(projection({ limits: { cpu: '2', memory: '512M' }, args: ['1'] }, wanted)).toEqual({
    limits: { cpu: '2', memory: '512M' },
    args: ['1'],
  });
});

test('treats an empty value like an absent one', () => {
  expect(projection({ spec: {} }, { spec: { egress: [], readOnly: false } })).toEqual({
    spec: { egress: [], readOnly: false },
  });
});

test('gives equal values equal texts, whatever the order of their keys', () => {
  expect(canonicalJson({ b: 1, a: { d: undefined, c: [2, 1] } })).toBe('{"a":{"c":[2,1]},"b":1}');
  expect(hashOf({ a: 1, b: 2 })).toBe(hashOf({ b: 2, a: 1 }));
  expect(hashOf([1, 2])).not.toBe(hashOf([2, 1]));
});
