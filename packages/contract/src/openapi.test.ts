import { createConfig, lintFromString } from '@redocly/openapi-core';
import { expect, test } from 'vitest';
import { openApiDocument } from './openapi.ts';

test('the document passes a strict linter', async () => {
  const config = await createConfig({
    extends: ['recommended-strict'],
    rules: {
      'no-server-example.com': 'off', // the daemon is on this machine: localhost is where it is
      'operation-operationId-unique': 'error',
      'operation-description': 'off',
      'operation-summary': 'error',
      'operation-singular-tag': 'error',
      'operation-4xx-response': 'error',
      'no-invalid-schema-examples': 'error',
      'no-invalid-media-type-examples': 'error',
      'no-unused-components': 'error',
      'no-schema-type-mismatch': 'error',
      'path-parameters-defined': 'error',
      'parameter-description': 'error',
      'tag-description': 'error',
      'tags-alphabetical': 'off',
    },
  });

  const problems = await lintFromString({ source: JSON.stringify(openApiDocument()), config });

  expect(problems.map(({ ruleId, message, location }) => [ruleId, message, location[0]?.pointer])).toEqual(
    [],
  );
});
