import { describe, expect, test } from 'vitest';
import { specOf } from '../controllers/plan.ts';
import { crdOf, resources } from './crds.ts';
import { laterFieldProblems } from './later-fields.ts';
import { mcpExternalAuthConfig } from './mcp-external-auth-config.ts';

interface Schema {
  properties?: Record<string, Schema>;
  'x-kubernetes-validations'?: { rule: string; message: string }[];
}

const rows = resources.flatMap((resource) =>
  (resource.laterFields ?? []).map((field) => ({ kind: resource.kind, resource, field, path: field.path })),
);

/** An object with one value at a path. */
function objectWith(path: string, value: unknown): object {
  const [name = '', ...rest] = path.split('.');
  return { [name]: rest.length === 0 ? value : objectWith(rest.join('.'), value) };
}

describe('a field of later versions', () => {
  test.each(rows)('$path of $kind is in the definition, so that it is refused', ({ resource, field }) => {
    const { spec } = crdOf(resource) as {
      spec: { versions: [{ schema: { openAPIV3Schema: { properties: { spec: Schema } } } }] };
    };
    const [version] = spec.versions;
    const schema = field.path
      .split('.')
      .reduce<Schema | undefined>(
        (parent, name) => parent?.properties?.[name],
        version.schema.openAPIV3Schema.properties.spec,
      );

    expect(schema?.['x-kubernetes-validations']).toEqual([
      { rule: 'false', message: `spec.${field.path} is not supported: ${field.instead}` },
    ]);
  });

  test.each(rows.filter(({ kind }) => kind !== 'MCPExternalAuthConfig'))(
    '$path of $kind stops a pass, because another definition may admit it',
    ({ kind, field }) => {
      const object = {
        apiVersion: 'toolhive.stacklok.dev/v1alpha1',
        kind,
        metadata: { name: 'weather' },
        spec: { image: 'example/weather:1', ...objectWith(field.path, {}) },
      };

      expect(() => specOf(object)).toThrow(`spec.${field.path} is not supported: ${field.instead}`);
    },
  );

  test('of a token exchange is named', () => {
    const spec = { type: 'tokenExchange', tokenExchange: { subjectTokenType: 'id_token' } };

    expect(laterFieldProblems(mcpExternalAuthConfig.laterFields ?? [], spec)).toEqual([
      "spec.tokenExchange.subjectTokenType is not supported: remove it, because the caller's access token is exchanged",
    ]);
  });
});
