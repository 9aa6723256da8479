import { PermissionProfile } from '@toolhive/contract/permission-profile';
import { RunConfig } from '@toolhive/contract/run-config';
import * as z from 'zod';
import { fieldTable } from './markdown.ts';
import { allFieldsOf, nameIn, rootOf } from './schema.ts';
import type { Field, Schema } from './schema.ts';

/** Returns the table of all run config fields, to be included in a page. Sections with a page of their own are not expanded. */
export function runConfigReference(): string {
  return `${fieldTable('Run config fields', fieldsIn(RunConfig), anchorOf)}\n`;
}

/** Returns the table of all permission profile keys, to be included in a page. */
export function permissionProfileReference(): string {
  return `${fieldTable('Permission profile keys', fieldsIn(PermissionProfile), anchorOf)}\n`;
}

/** A field without a description has the description of its type. */
function fieldsIn(schema: z.ZodType): Field[] {
  const document = z.toJSONSchema(schema, { io: 'input' });
  const definitions: Readonly<Record<string, Schema>> = document.$defs as Record<string, Schema>;
  return allFieldsOf(rootOf(document)).map((field) => {
    const types = [field.schema, ...(field.schema.anyOf ?? [])].flatMap(({ $ref }) => $ref ?? []);
    const [description] = types.map((type) => definitions[nameIn(type)]?.description);
    return description === undefined ? field : { ...field, schema: { description, ...field.schema } };
  });
}

const anchorOf = (schema: string): string => `./api.mdx#schema-${schema}`;
