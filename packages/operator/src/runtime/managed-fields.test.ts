import type { KubernetesObject, ManagedFields } from '@toolhive/kubernetes/object';
import { expect, test } from 'vitest';
import { covers, describeFields, foreignFields, isTampered, takenOver } from './managed-fields.ts';

const own: ManagedFields = {
  manager: 'toolhive-operator',
  operation: 'Apply',
  fieldsV1: {
    'f:spec': {
      'f:egress': {},
      'f:containers': {
        'k:{"name":"mcp"}': { '.': {}, 'f:name': {}, 'f:image': {}, 'f:emptyDir': {} },
        'k:{"containerPort":80,"protocol":"TCP"}': { '.': {}, 'f:containerPort': {} },
      },
    },
  },
};

function objectWith(...records: ManagedFields[]): KubernetesObject {
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'one', managedFields: [own, ...records] },
  };
}

const update = (fieldsV1: ManagedFields['fieldsV1'], subresource?: string): ManagedFields => ({
  manager: 'hand',
  operation: 'Update',
  ...(fieldsV1 === undefined ? {} : { fieldsV1 }),
  ...(subresource === undefined ? {} : { subresource }),
});

test('a value is covered while the record has each of its fields, whatever the defaults and empty values', () => {
  const container = { name: 'mcp', image: 'a', emptyDir: {}, env: [], args: undefined };
  const wanted = { spec: { egress: [{ to: [] }], containers: [container, { containerPort: 80 }] } };

  expect(covers(own.fieldsV1, wanted)).toBe(true);
});

test.each([
  ['another item', { spec: { containers: [{ name: 'other' }] } }],
  ['another field of an item', { spec: { containers: [{ name: 'mcp', command: ['a'] }] } }],
  ['another field', { spec: { ingress: [1] } }],
])('a value is not covered if the record lacks %s', (_what, wanted) => {
  expect(covers(own.fieldsV1, wanted)).toBe(false);
});

test.each([
  ['the status', update({ 'f:status': { 'f:replicas': {} } }, 'status')],
  ['a scaling', update({ 'f:spec': { 'f:replicas': {} } }, 'scale')],
  [
    'a restart',
    update({
      'f:spec': {
        'f:template': {
          'f:metadata': { 'f:annotations': { '.': {}, 'f:kubectl.kubernetes.io/restartedAt': {} } },
        },
      },
    }),
  ],
  ['a label', update({ 'f:metadata': { 'f:labels': { 'f:team': {} } } })],
  ['the same value', update({ 'f:spec': { 'f:egress': {} } })],
])('%s by another program is not foreign', (_what, record) => {
  expect(foreignFields(objectWith(record))).toBeUndefined();
  expect(isTampered(objectWith(record))).toBe(false);
});

test.each([
  [
    'a new item',
    { 'f:spec': { 'f:containers': { 'k:{"name":"spy"}': { '.': {}, 'f:image': {} } } } },
    'spec.containers[spy]',
  ],
  [
    'a field of an empty value',
    { 'f:spec': { 'f:containers': { 'k:{"name":"mcp"}': { 'f:emptyDir': { 'f:medium': {} } } } } },
    'spec.containers[mcp].emptyDir.medium',
  ],
  [
    'an owner',
    { 'f:metadata': { 'f:ownerReferences': { 'k:{"uid":"7"}': {} } } },
    'metadata.ownerReferences[7]',
  ],
  ['a paused rollout', { 'f:spec': { 'f:paused': {} } }, 'spec.paused'],
  [
    'another annotation of the template',
    { 'f:spec': { 'f:template': { 'f:metadata': { 'f:annotations': { 'f:example.com/networks': {} } } } } },
    'spec.template.metadata.annotations.example.com/networks',
  ],
])('%s by another program is foreign', (_what, fields, path) => {
  const found = foreignFields(objectWith(update(fields)));

  expect(found?.managers).toEqual(['hand']);
  expect(describeFields(found?.fields ?? {})).toBe(path);
});

test('taking over leaves others what they may set', () => {
  const record = update({
    'f:metadata': { 'f:labels': { 'f:team': {} } },
    'f:spec': { 'f:replicas': {}, 'f:paused': {} },
  });
  const status = update({ 'f:status': { 'f:replicas': {} } }, 'status');

  const [first, ...others] = takenOver(objectWith(record, status));

  expect(first).toMatchObject({ manager: 'toolhive-operator', operation: 'Apply' });
  expect(first?.fieldsV1).toEqual({ 'f:spec': { ...own.fieldsV1?.['f:spec'], 'f:paused': {} } });
  expect(others).toEqual([
    {
      ...record,
      fieldsV1: { 'f:metadata': { 'f:labels': { 'f:team': {} } }, 'f:spec': { 'f:replicas': {} } },
    },
    status,
  ]);
});
