import { clientApplications } from '@toolhive/contract/client-application';
import { registryJsonSchema } from '@toolhive/contract/registry';
import { resources } from '@toolhive/operator/crds';
import { describe, expect, test } from 'vitest';
import { clientReference } from './clients.ts';
import { crdReference } from './crds.ts';
import { registryReference } from './registry-schema.ts';

const anchorsIn = (page: string): string[] => [...page.matchAll(/\{#([^}]+)\}$/gm)].map(([, id = '']) => id);
const linksIn = (page: string): string[] => [...page.matchAll(/\]\(#([^)]+)\)/g)].map(([, id = '']) => id);

describe.each([
  ['resources', crdReference(resources)],
  ['the registry format', registryReference(registryJsonSchema())],
  ['client applications', clientReference()],
])('the reference of %s', (_what, page) => {
  test('has an anchor for every link, and none twice', () => {
    const anchors = anchorsIn(page);

    expect(anchors.length).toBeGreaterThan(5);
    expect(new Set(anchors).size).toBe(anchors.length);
    expect(linksIn(page).filter((link) => !anchors.includes(link))).toEqual([]);
  });

  test('has its headings in order', () => {
    const levels = [...page.matchAll(/^(#+) /gm)].map(([, marks = '']) => marks.length);

    const jumps = levels.filter((level, index) => level > (levels[index - 1] ?? 1) + 1);

    expect(jumps).toEqual([]);
  });

  test('says of every field what it means', () => {
    const rows = page.split('\n').filter((line) => line.startsWith('| '));

    expect(rows.length).toBeGreaterThan(10);
    expect(rows.filter((row) => row.startsWith('| `') && /\|\s+\|$/.test(row))).toEqual([]);
  });
});

test('every client application is described with the file that it gets', () => {
  const page = clientReference();

  for (const { id, config } of clientApplications) {
    expect(anchorsIn(page)).toContain(id);
    expect(page).toContain(`\`~/${config.linux}\``);
  }
  expect(page).toContain('"amp.mcpServers": {');
  expect(page).toContain('    uri: http://127.0.0.1:18347/mcp');
});

test('a field of a resource stands where its kind has it, with its rules', () => {
  const page = crdReference(resources);
  const section = page.slice(
    page.indexOf('{#mcpserver-spec-telemetry}'),
    page.indexOf('{#mcpserver-spec-toolconfigref}'),
  );

  expect(section).toContain('| `openTelemetry.tracing.samplingRate` | string |');
  expect(section).toContain('Default `0.05`.');
});
