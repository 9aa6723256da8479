import { openTestApi } from '@toolhive/api/testing';
import { openApiDocument } from '@toolhive/contract/openapi';
import { operations } from '@toolhive/contract/operations';
import type { Operation } from '@toolhive/contract/operation';
import type { OperationId } from '@toolhive/contract/operations';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { program } from '@toolhive/cli/commands';
import { understand } from '@toolhive/cli/program';
import { apiSpec } from './api-spec.ts';
import { callsOf, exampleBody, examplePath } from './open-api.ts';
import type { Call, OpenApi } from './open-api.ts';

const spec = parse(await apiSpec(openApiDocument(), program)) as OpenApi;
const calls = callsOf(spec);
const operationOf = ({ operation: { operationId } }: Call): Operation =>
  operations[operationId.replace(/AtRoot$/, '') as OperationId];
const firstLine = (text: string): string | undefined => text.split('\n')[0];

test('the specification is that of the API, with examples of every operation', () => {
  const { info, openapi, servers } = spec;
  const ids = calls.map(({ operation }) => operation.operationId.replace(/AtRoot$/, ''));

  expect({ openapi, title: info.title, version: info.version, server: servers[0]?.url }).toEqual({
    openapi: '3.1.0',
    title: 'ToolHive API server',
    version: '1.0',
    server: 'http://localhost:8080',
  });
  // The document itself is served beside the operations.
  expect(new Set(ids)).toEqual(new Set([...Object.keys(operations), 'getOpenApiDocument']));
  for (const { operation } of calls) {
    expect(operation['x-codeSamples']?.[0]).toMatchObject({ label: 'curl' });
  }
});

describe('the examples of an operation', () => {
  test.each(calls.filter(({ operation }) => operation.requestBody !== undefined))(
    'have the body that $operation.operationId asks for',
    (call) => {
      const { body } = operationOf(call);

      expect(body?.safeParse(exampleBody(spec, call)).error).toBeUndefined();
    },
  );

  test('are requests that the API understands', async () => {
    await using api = await openTestApi();
    // Streams do not end, a relayed message is no operation of its own, and the registry asks another host.
    const others = ['watchEvents', 'watchAudit', 'updateRegistry', 'getOpenApiDocument', 'relayMessage'];
    const tried = calls.filter(
      (call) => !others.includes(call.operation.operationId) && operationOf(call).socketOnly !== true,
    );

    const answers: string[] = [];
    for (const call of tried) {
      const body = exampleBody(spec, call);
      const headers: Record<string, string> =
        call.method === 'GET' ? {} : { 'content-type': 'application/json' };
      const sent = body === undefined ? undefined : JSON.stringify(body);
      const { status, text } = await api.send(call.method, examplePath(spec, call), headers, sent);
      answers.push(`${status} ${text}`);
    }

    expect(answers.length).toBeGreaterThan(50);
    // What they name need not be there (404); but nothing is wrong with how they ask, except on this machine.
    expect(answers.filter((answer) => /^(400|405|413|415|500) /.test(answer)).map(firstLine)).toEqual([
      '400 mount source /home/ada/notes does not exist', // to create it, and to check it
      '400 mount source /home/ada/notes does not exist',
      '400 the registry default cannot be removed',
      '400 OS keyring is not available, and no password was given for the encrypted secrets',
    ]);
  });

  test('with thv are commands that it understands', async () => {
    const lines = calls.flatMap(({ operation }) =>
      (operation['x-codeSamples'] ?? []).flatMap(({ label, source }) => (label === 'thv' ? source : [])),
    );

    expect(lines.length).toBeGreaterThan(35);
    for (const line of lines) {
      const { command } = (await understand(program, line.split(' ').slice(1))) as { command: object };
      expect(command).toBeDefined();
    }
  });

  test('quote what a shell would take for its own', async () => {
    const document = structuredClone(openApiDocument()) as OpenApi;
    const group = document.components.schemas['CreateGroup'] as { examples: unknown[] };
    group.examples = [{ name: "it's" }];

    const text = await apiSpec(document, program);

    expect(text).toContain(`"name": "it'\\''s"`);
  });
});
