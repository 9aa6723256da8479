import type { AdoptionPlan, PlannedServer } from '@toolhive/contract/adoption';
import { isCredential, replaceCredentials, urlWithoutCredentials } from '@toolhive/contract/credential';
import { adoptedValue } from './entries.ts';
import type { FoundServer } from './scan.ts';

/** The changed entries of each file as a unified diff, without credentials. The port of a new workload is not known yet. */
export function diffOf(
  named: readonly { server: FoundServer; workload: string }[],
  planned: readonly PlannedServer[],
): AdoptionPlan['files'] {
  const files = new Map<string, string[]>();
  for (const { server, workload } of named) {
    if (planned.find((each) => each.workload === workload)?.problem !== undefined) continue;
    for (const { place, name, value } of server.entries) {
      const next = adoptedValue(
        place.application,
        value,
        { name: workload, url: 'http://localhost:PORT/mcp', transport: 'streamable-http' },
        name,
      );
      const lines = files.get(place.path) ?? [];
      lines.push(...linesOf('-', name, shown(value)), ...linesOf('+', name, next));
      files.set(place.path, lines);
    }
  }
  return [...files].map(([path, lines]) => ({ path, diff: lines.join('\n') }));
}

function linesOf(sign: string, name: string, value: unknown): string[] {
  return `${JSON.stringify(name)}: ${JSON.stringify(value, null, 2)}`
    .split('\n')
    .map((line) => `${sign}${line}`);
}

/** A value without the credentials in it. */
function shown(value: unknown, key = ''): unknown {
  if (typeof value === 'string') {
    if (/^[a-z][\w+.-]*:\/\//i.test(value)) return urlWithoutCredentials(value);
    return isCredential(key, value) ? '***' : value;
  }
  if (Array.isArray(value)) {
    return value.every((item) => typeof item === 'string')
      ? replaceCredentials(value, () => '***')
      : value.map((item: unknown) => shown(item, key));
  }
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, shown(inner, name)]));
}
