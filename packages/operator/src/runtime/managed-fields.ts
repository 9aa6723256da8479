import type { FieldTree, KubernetesObject, ManagedFields } from '@toolhive/kubernetes/object';

/** The owner of the fields that the operator writes. */
export const FIELD_MANAGER = 'toolhive-operator';

/**
 * The annotations of pod templates by which people and programs restart pods: kubectl and most user interfaces, OpenShift,
 * Rancher, and Reloader.
 */
export const restartAnnotations: readonly string[] = [
  'kubectl.kubernetes.io/restartedAt',
  'openshift.openshift.io/restartedAt',
  'cattle.io/timestamp',
  'reloader.stakater.com/last-reloaded-from',
];

const replicas = ['f:spec', 'f:replicas'];
const template = ['f:spec', 'f:template', 'f:metadata'];
const workload = [replicas, ...restartAnnotations.map((name) => [...template, 'f:annotations', `f:${name}`])];

/** The fields that other programs may set, beside the status and most metadata. */
const foreignPaths: Record<string, readonly (readonly string[])[]> = {
  // People and autoscalers choose the number of pods.
  Deployment: workload,
  StatefulSet: workload,
  // Platforms such as OpenShift add their credentials.
  ServiceAccount: [['f:secrets'], ['f:imagePullSecrets']],
};

/** Whether a field stays with another owner: the status, and labels, annotations, and finalizers of the object. */
function mayBeForeign(kind: string, path: readonly string[]): boolean {
  const [first, second] = path;
  if (path.length === 1 && first === 'f:status') return true;
  if (path.length === 2 && first === 'f:metadata') return second !== 'f:ownerReferences';
  return foreignPaths[kind]?.some((other) => other.join('\n') === path.join('\n')) === true;
}

/** The fields that the operator applied last, or undefined if another program removed the record. */
export function ownFields({ metadata }: KubernetesObject): FieldTree | undefined {
  return metadata.managedFields?.find(isOwn)?.fieldsV1;
}

function isOwn({ manager, operation, subresource = '' }: ManagedFields): boolean {
  return manager === FIELD_MANAGER && operation === 'Apply' && subresource === '';
}

/** The records that decide whether an object is as wanted. The others are about the status. */
export function decisive({ managedFields = [] }: KubernetesObject['metadata']): ManagedFields[] {
  return managedFields
    .filter(({ subresource }) => subresource !== 'status')
    .map(({ time: _time, ...record }) => record);
}

/**
 * Whether a record contains every field of a wanted value. The API server takes a field out of the record when another
 * program changes or removes the field, so a covered value is unchanged.
 */
export function covers(fields: FieldTree | undefined, wanted: unknown): boolean {
  // The record has no step for an empty list, and an addition to one is foreign anyway.
  if (wanted !== null && typeof wanted === 'object' && Object.keys(wanted).length === 0) return true;
  if (fields === undefined) return false;
  if (Object.keys(fields).length === 0) return true; // the value changes as a whole
  if (Array.isArray(wanted)) return wanted.every((item) => coversItem(fields, item));
  if (!isObject(wanted)) return false;
  return Object.entries(wanted).every(
    ([name, value]) => value === undefined || value === null || covers(fields[`f:${name}`], value),
  );
}

function coversItem(fields: FieldTree, item: unknown): boolean {
  if (!isObject(item)) return fields[`v:${JSON.stringify(item)}`] !== undefined;
  return Object.entries(fields).some(([step, below]) => {
    if (!step.startsWith('k:')) return false;
    const key = JSON.parse(step.slice(2)) as Record<string, unknown>; // written by the API server
    // A key field that the item lacks has its default value.
    const isSame = Object.entries(key).every(
      ([name, value]) => item[name] === undefined || item[name] === value,
    );
    return isSame && covers(below, item);
  });
}

/** The fields that other programs set and that only the operator may set, or undefined if there are none. */
export function foreignFields(
  object: KubernetesObject,
): { fields: FieldTree; managers: string[] } | undefined {
  const own = ownFields(object) ?? {};
  const records = decisive(object.metadata)
    .filter((record) => !isOwn(record))
    .map(({ manager = '', fieldsV1 = {} }) => ({
      manager,
      fields: without(split(object.kind, fieldsV1).taken, own),
    }))
    .filter(({ fields }) => Object.keys(fields).length > 0);
  if (records.length === 0) return undefined;
  return {
    fields: records.reduce<FieldTree>((all, { fields }) => union(all, fields), {}),
    managers: [...new Set(records.map(({ manager }) => manager))],
  };
}

/** Whether another program has changed the content that the operator wrote last. */
export function isTampered(object: KubernetesObject | undefined): boolean {
  return object !== undefined && (ownFields(object) === undefined || foreignFields(object) !== undefined);
}

/**
 * The records after the operator has taken over all foreign fields. The next apply then removes those that are not wanted,
 * because no other program owns them.
 */
export function takenOver(object: KubernetesObject): ManagedFields[] {
  const { kind, apiVersion, metadata } = object;
  let own: FieldTree = ownFields(object) ?? {};
  const others: ManagedFields[] = [];
  for (const record of metadata.managedFields ?? []) {
    if (isOwn(record)) continue;
    const { taken, left } = split(kind, record.fieldsV1 ?? {});
    if (record.subresource !== 'status') own = union(own, taken);
    const fieldsV1 = record.subresource === 'status' ? record.fieldsV1 : left;
    if (fieldsV1 !== undefined && Object.keys(fieldsV1).length > 0) others.push({ ...record, fieldsV1 });
  }
  const time = new Date().toISOString().replace(/\.\d+Z$/, 'Z');
  const record = { manager: FIELD_MANAGER, operation: 'Apply', apiVersion, time, fieldsType: 'FieldsV1' };
  return [{ ...record, fieldsV1: own }, ...others];
}

/** The fields as a short text, such as `spec.egress, spec.containers[mcp].env[HOME]`. */
export function describeFields(fields: FieldTree): string {
  const paths = leavesOf(fields, '');
  const shown = paths.slice(0, MAX_SHOWN_PATHS).join(', ');
  return paths.length > MAX_SHOWN_PATHS ? `${shown}, and ${paths.length - MAX_SHOWN_PATHS} more` : shown;
}
const MAX_SHOWN_PATHS = 5;

function leavesOf(fields: FieldTree, path: string): string[] {
  // An item that is foreign as a whole is one path.
  if (fields['.'] !== undefined && path.endsWith(']')) return [path];
  const steps = Object.entries(fields).filter(([step]) => step !== '.');
  if (steps.length === 0) return [path];
  return steps.flatMap(([step, below]) => leavesOf(below, `${path}${textOf(step, path === '')}`));
}

function textOf(step: string, isFirst: boolean): string {
  const value = step.slice(2);
  if (step.startsWith('f:')) return isFirst ? value : `.${value}`;
  if (!step.startsWith('k:')) return `[${value}]`;
  return `[${Object.values(JSON.parse(value) as Record<string, unknown>).join(' ')}]`;
}

/** Separates the fields that only the operator may set from those of others. */
function split(
  kind: string,
  fields: FieldTree,
  path: readonly string[] = [],
): { taken: FieldTree; left: FieldTree } {
  const taken: FieldTree = {};
  const left: FieldTree = {};
  for (const [step, below] of Object.entries(fields)) {
    const here = [...path, step];
    if (mayBeForeign(kind, here)) {
      left[step] = below;
    } else if (Object.keys(below).length === 0) {
      taken[step] = below;
    } else {
      const parts = split(kind, below, here);
      if (Object.keys(parts.taken).length > 0) taken[step] = parts.taken;
      if (Object.keys(parts.left).length > 0) left[step] = parts.left;
    }
  }
  // A map that holds nothing but foreign entries is foreign itself.
  if (Object.keys(taken).join() === '.' && Object.keys(left).length > 0)
    return { taken: {}, left: { '.': {}, ...left } };
  return { taken, left };
}

function without(fields: FieldTree, others: FieldTree): FieldTree {
  const left: FieldTree = {};
  for (const [step, below] of Object.entries(fields)) {
    const other = others[step];
    if (step === '.' || (other !== undefined && Object.keys(below).length === 0)) continue;
    // A leaf is an empty object here, because the fields below an atomic one are in no record.
    const rest = other === undefined ? below : without(below, other);
    if (other === undefined || Object.keys(rest).length > 0) left[step] = rest;
  }
  return left;
}

function union(one: FieldTree, other: FieldTree): FieldTree {
  const all: FieldTree = { ...one };
  for (const [step, below] of Object.entries(other)) all[step] = union(all[step] ?? {}, below);
  return all;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return value !== null && typeof value === 'object' && !Array.isArray(value);
}
