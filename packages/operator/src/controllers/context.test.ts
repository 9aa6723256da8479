import { expect, test } from 'vitest';
import { hasSameWish } from './context.ts';
import type { CustomResource } from './context.ts';

const before: CustomResource = {
  apiVersion: 'toolhive.stacklok.dev/v1alpha1',
  kind: 'MCPServer',
  metadata: { name: 'one', namespace: 'tools', resourceVersion: '7', labels: { team: 'red' } },
  spec: { image: 'example/server:1' },
  status: { phase: 'Pending' },
};

test('the answer to a status write needs no other pass', () => {
  const metadata = { ...before.metadata, resourceVersion: '8' };

  expect(hasSameWish({ ...before, metadata, status: { phase: 'Running' } }, before)).toBe(true);
});

test.each([
  ['spec', { spec: { image: 'example/server:2' } }],
  ['label', { metadata: { ...before.metadata, labels: { team: 'blue' } } }],
  ['annotation', { metadata: { ...before.metadata, annotations: { restarted: 'now' } } }],
  ['finalizer', { metadata: { ...before.metadata, finalizers: ['example.com/kept'] } }],
  ['deletion', { metadata: { ...before.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } }],
])(
  'the answer to a status write with a %s that no watch has reported needs another pass',
  (_what, change) => {
    expect(hasSameWish({ ...before, ...change, status: { phase: 'Running' } }, before)).toBe(false);
    expect(hasSameWish({ ...before, status: { phase: 'Running' } }, undefined)).toBe(false);
  },
);
