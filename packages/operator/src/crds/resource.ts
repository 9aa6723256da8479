import type * as z from 'zod';

/** The API group of every kind. */
export const apiGroup = 'toolhive.stacklok.dev';

/** The version of every kind. There is one so far, which is served and stored. */
export const apiVersion = 'v1alpha1';

/** A kind of resource, defined once: its CRD, what the operator reads, and its reference come from here. */
export interface Resource<Spec extends z.ZodObject = z.ZodObject, Status extends z.ZodObject = z.ZodObject> {
  kind: string;
  singular: string;
  plural: string;
  /** What it can be called on a command line instead. */
  shortNames?: readonly string[];
  /** Names for several kinds at once. */
  categories?: readonly string[];
  /** What one of them stands for. */
  summary: string;
  spec: Spec;
  status: Status;
  /** What `kubectl get` shows beside the name. */
  columns: readonly Column[];
  /** One that somebody may write. */
  example: { name: string; spec: z.input<Spec> };
}

interface Column {
  name: string;
  type: 'string' | 'integer' | 'date';
  jsonPath: string;
}

/** When it was made. */
export const age: Column = { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' };

/** Keeps the types of a definition. */
export function resource<Spec extends z.ZodObject, Status extends z.ZodObject>(
  definition: Resource<Spec, Status>,
): Resource<Spec, Status> {
  return definition;
}
