import { invalid } from '@toolhive/contract/failure';
import type { InputProblem } from '@toolhive/contract/failure';
import { jsonPointer } from '@toolhive/contract/json-pointer';
import { nearest } from '@toolhive/contract/nearest';
import * as z from 'zod';

/** One mistake in so many letters is one of spelling. Fields of later versions differ more. */
const lettersPerMistake = 6;
/** How many items of an array are read. */
const maxItems = 100;
/** How many unknown fields are compared, and how long their names are: a body can have tens of thousands. */
const maxCompared = 50;
const maxNameLength = 40;

/** How client configurations name workload fields. */
const namesElsewhere: Readonly<Record<string, string>> = {
  args: 'cmd_arguments',
  arguments: 'cmd_arguments',
  env: 'env_vars',
  environment: 'env_vars',
  permissions: 'permission_profile',
};

/**
 * Throws `invalid` for an unknown field that resembles an absent one, as `permision_profile` does. Other unknown fields have
 * no effect, because clients send those of later versions, but a limit that a caller has misspelled must not be missing.
 */
export function refuseMisspelled(schema: z.core.$ZodType, body: unknown): void {
  const [found] = misspelled(schema, body, { path: [], left: { count: maxCompared } });
  if (found === undefined) return;
  const { path, meant } = found;
  const problem: InputProblem = {
    pointer: jsonPointer(path),
    detail: `unknown field, did you mean ${meant}?`,
  };
  throw invalid(`${path.join('.')} is not a field`, { hint: `did you mean ${meant}?`, problems: [problem] });
}

interface Misspelled {
  path: (string | number)[];
  meant: string;
}

interface Place {
  path: readonly (string | number)[];
  /** How many unknown fields of the whole body may still be compared. */
  left: { count: number };
}

function* misspelled(schema: z.core.$ZodType, value: unknown, { path, left }: Place): Generator<Misspelled> {
  const inner = unwrapped(schema, value);
  if (inner instanceof z.ZodArray && Array.isArray(value)) {
    for (const [index, item] of value.slice(0, maxItems).entries())
      yield* misspelled(inner.element, item, { path: [...path, index], left });
  }
  if (!(inner instanceof z.ZodObject) || typeof value !== 'object' || value === null) return;
  const shape = inner.shape as Record<string, z.core.$ZodType>;
  const isClosed = inner.def.catchall === undefined;
  const absent = Object.keys(shape).filter((name) => !Object.hasOwn(value, name));
  for (const [name, member] of Object.entries(value)) {
    const known = Object.hasOwn(shape, name) ? shape[name] : undefined;
    if (known !== undefined) yield* misspelled(known, member, { path: [...path, name], left });
    else if (isClosed && left.count > 0) {
      left.count -= 1;
      const meant = meantBy(name, absent);
      if (meant !== undefined) yield { path: [...path, name], meant };
    }
  }
}

function meantBy(name: string, absent: readonly string[]): string | undefined {
  if (name.length > maxNameLength) return undefined;
  const usual = Object.hasOwn(namesElsewhere, name) ? namesElsewhere[name] : undefined;
  if (usual !== undefined && absent.includes(usual)) return usual;
  const asHere = name.replaceAll(/(?<=[a-z])[A-Z]|-/g, (found) => `_${found.replace('-', '')}`).toLowerCase();
  return nearest(asHere, absent, { lettersPerMistake });
}

/** The schema for this value without wrappers for optional values and alternatives. */
function unwrapped(schema: z.core.$ZodType, value: unknown): z.core.$ZodType {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable || schema instanceof z.ZodDefault)
    return unwrapped(schema.unwrap(), value);
  if (schema instanceof z.ZodPipe) return unwrapped(schema.in, value);
  if (!(schema instanceof z.ZodUnion)) return schema;
  const fitting = schema.options.find((option) => z.safeParse(option, value).success);
  return fitting === undefined ? schema : unwrapped(fitting, value);
}
