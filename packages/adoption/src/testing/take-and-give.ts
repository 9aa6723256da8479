import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { clientApplications } from '@toolhive/contract/client-application';
import type { ClientName } from '@toolhive/contract/client-application';
import { readPlace } from '@toolhive/clients/places';
import type { Place } from '@toolhive/clients/places';
import { readIfThere } from '@toolhive/state/files';
import { adoptedValue } from '../entries.ts';
import { adoptEntry, restoreFile, settle } from '../files.ts';
import { AdoptionRecord } from '../record.ts';

/** Client files of each format, with two servers each. */
export const clientTexts: Partial<Record<ClientName, string>> = {
  cursor:
    '{\n  "mcpServers": {\n    "one": {"command": "one"}, // mine\n    "two": {"command": "two"}\n  }\n}\n',
  goose: 'extensions:\n  one: # mine\n    cmd: one\n    type: stdio\n  two:\n    cmd: two\n    type: stdio\n',
  codex: '# mine\n[mcp_servers.one]\ncommand = "one"\n\n[mcp_servers.two]\ncommand = "two"\n',
};

const placesIn = (home: string): Place[] =>
  clientApplications
    .filter(({ id }) => clientTexts[id] !== undefined)
    .map((application) => ({
      application,
      scope: 'user',
      path: join(home, application.id),
      directory: undefined,
      isShared: false,
    }));

/** The current texts of the files. */
export async function textsIn(home: string): Promise<Record<string, string>> {
  const texts = placesIn(home).map(async ({ application: { id }, path }) => [
    id,
    await readFile(path, 'utf8'),
  ]);
  return Object.fromEntries(await Promise.all(texts)) as Record<string, string>;
}

/** A store in a file that is never damaged. */
function vaultIn(home: string) {
  const path = join(home, 'key');
  return {
    get: () => readIfThere(path),
    set: (_name: string, value: string) => writeFile(path, value),
  };
}

const target = /^http:\/\/localhost:\d+\/mcp$/;

/** Adopts all servers in the files, or those that an earlier call has left. */
export async function take(home: string, { only }: { only?: string } = {}): Promise<void> {
  const record = new AdoptionRecord(join(home, 'adoptions'));
  const vault = vaultIn(home);
  await settle(record);
  for (const place of placesIn(home)) {
    for (const [name, found] of (await readPlace(place)).entries) {
      const value = found as Record<string, unknown>; // each is a table
      if (only !== undefined && name !== only) continue;
      if (target.test(String(value['url'] ?? value['uri']))) continue;
      const port = name === 'one' ? 9001 : 9002;
      const workload = { name, url: `http://localhost:${port}/mcp`, transport: 'streamable-http' as const };
      const next = adoptedValue(place.application, value, workload, name);
      await adoptEntry({ place, name, value }, next, {
        record,
        vault,
        workload: name,
        at: '2026-01-31T09:30:00.000Z',
      });
    }
  }
}

/** Gives all servers back. */
export async function give(home: string): Promise<string[]> {
  const record = new AdoptionRecord(join(home, 'adoptions'));
  const vault = vaultIn(home);
  await settle(record);
  const restored: string[] = [];
  for (const { path } of placesIn(home)) {
    const changes = (await record.changes()).filter((change) => change.path === path);
    const files = await restoreFile(path, changes, { record, vault, isWhole: false });
    restored.push(...files.map((file) => file.restored));
  }
  return restored;
}
