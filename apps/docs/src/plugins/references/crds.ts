import { exampleOf, schemaOf } from '@toolhive/operator/crds';
import type { Resource } from '@toolhive/operator/resource';
import { code, fieldTable, heading, textOf } from './markdown.ts';
import { allFieldsOf, fieldsOf } from './schema.ts';
import type { Field, Schema } from './schema.ts';

/** The reference of all kinds of resources, to be included in a page. */
export function crdReference(resources: readonly Resource[]): string {
  return `${resources.flatMap(sectionsOf).join('\n\n')}\n`;
}

function sectionsOf(resource: Resource): string[] {
  const { kind, summary, plural, shortNames } = resource;
  const { spec, status } = schemaOf(resource).properties;
  return [
    heading(2, kind, idOf(kind)),
    textOf(summary),
    `On a command line: ${[plural, ...shortNames].map((name) => code(`kubectl get ${name}`)).join(' or ')}.`,
    `\`\`\`yaml\n${exampleOf(resource).trimEnd()}\n\`\`\``,
    ...partOf(kind, 'spec', spec as Schema),
    ...partOf(kind, 'status', status as Schema),
  ];
}

/** Direct fields are in one table. Nested objects have separate tables. */
function partOf(kind: string, part: 'spec' | 'status', schema: Schema): string[] {
  const { fields } = fieldsOf(schema);
  const whole = (field: Field): boolean => fieldsOf(field.schema).fields.length > 0;
  return [
    heading(3, `${kind} ${part}`, idOf(kind, part)),
    ...(schema.description === undefined ? [] : [textOf(schema.description)]),
    fieldTable(`${kind} ${part}`, fields, noLink),
    ...fields
      .filter(whole)
      .flatMap(({ name, schema: own }) => [
        heading(4, code(`${part}.${name}`), idOf(kind, part, name)),
        textOf(own.description ?? ''),
        fieldTable(`${kind} ${part}.${name}`, allFieldsOf(own), noLink),
      ]),
  ];
}

/** The schemas of Kubernetes refer to no others. */
function noLink(schema: string): never {
  throw new Error(`${schema} has no description`);
}

const idOf = (...words: string[]): string => words.join('-').toLowerCase();
