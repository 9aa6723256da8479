import type * as z from 'zod';
import type { LaterField } from './later-fields.ts';

/** The name of all kinds together on the command line. */
export const category = 'toolhive';

/** The API group of every kind. */
export const apiGroup = 'toolhive.stacklok.dev';

/** The version of every kind. There is one so far, which is served and stored. */
export const apiVersion = 'v1alpha1';

/** A custom resource, defined once. Its CRD, its TypeScript types, and its reference derive from this definition. */
export interface Resource<Spec extends z.ZodObject = z.ZodObject, Status extends z.ZodObject = z.ZodObject> {
  kind: string;
  singular: string;
  plural: string;
  /** Alternative names on the command line. */
  shortNames: readonly string[];
  /** A description of one object. */
  summary: string;
  spec: Spec;
  /** The rules about several fields at once, which the API server checks. */
  rules?: readonly Rule[];
  /** Fields that only later versions of the original know, and that are refused. */
  laterFields?: readonly LaterField[];
  status: Status;
  /** What `kubectl get` shows beside the name. */
  columns: readonly Column[];
  /** A writable object. */
  example: { name: string; spec: z.input<Spec> };
}

/** A rule in the Common Expression Language about an object with a spec, and the error for objects that break the rule. */
interface Rule {
  rule: string;
  message: string;
}

/** Names of Services that derive from the name of an object have at most 63 characters and no dots. */
export const shortName: Rule = {
  rule: "self.metadata.name.size() <= 46 && !self.metadata.name.contains('.')",
  message: 'metadata.name can have at most 46 characters and no dots',
};

/** A storage outside of the proxy has an address. */
export const storageAddress: Rule = {
  rule: "!has(self.spec.sessionStorage) || self.spec.sessionStorage.provider == 'memory' || has(self.spec.sessionStorage.address)",
  message: 'spec.sessionStorage.address is required unless spec.sessionStorage.provider is memory',
};

/** Requires the block that belongs to a type. */
export function block(parent: string, type: string, name = type): Rule {
  const guard = parent === 'self.spec' ? '' : `!has(${parent}) || `;
  return {
    rule: `${guard}${parent}.type != '${type}' || has(${parent}.${name})`,
    message: `${parent.slice('self.'.length)}.${name} is required for type ${type}`,
  };
}

interface Column {
  name: string;
  type: 'string' | 'integer' | 'date';
  jsonPath: string;
}

/** The last columns of every kind: whether the object is ready, why not, and its age. */
export const lastColumns: readonly Column[] = [
  { name: 'Ready', type: 'string', jsonPath: ".status.conditions[?(@.type=='Ready')].status" },
  { name: 'Reason', type: 'string', jsonPath: ".status.conditions[?(@.type=='Ready')].reason" },
  { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
];

/** Keeps the types of a definition. */
export function resource<Spec extends z.ZodObject, Status extends z.ZodObject>(
  definition: Resource<Spec, Status>,
): Resource<Spec, Status> {
  return definition;
}
