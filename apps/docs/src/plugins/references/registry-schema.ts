import { fieldTable, heading, textOf } from './markdown.ts';
import { allFieldsOf, nameIn } from './schema.ts';
import type { Field, Schema } from './schema.ts';

/** The reference of the registry format, to be included in a page. */
export function registryReference(document: object): string {
  const { $ref = '', $defs = {} } = document as { $ref?: string; $defs?: Record<string, Schema> };
  const root = nameIn($ref);
  const names = [root, ...Object.keys($defs).filter((name) => name !== root)];
  // A field without a description has the description of its schema.
  const described = (field: Field): Field => ({
    ...field,
    schema: { description: $defs[nameIn(field.schema.$ref ?? '')]?.description ?? '', ...field.schema },
  });
  return `${names.flatMap((name) => sectionOf(name, $defs[name] ?? {}, described)).join('\n\n')}\n`;
}

function sectionOf(name: string, schema: Schema, described: (field: Field) => Field): string[] {
  return [
    heading(2, name, name.toLowerCase()),
    textOf(schema.description ?? ''),
    fieldTable(name, allFieldsOf(schema).map(described), (other) => `#${other.toLowerCase()}`),
    ...(schema.examples ?? []).map((example) => `\`\`\`json\n${JSON.stringify(example, null, 2)}\n\`\`\``),
  ];
}
