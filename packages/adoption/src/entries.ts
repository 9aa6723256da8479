import { isDeepStrictEqual } from 'node:util';
import { isCredential } from '@toolhive/contract/credential';
import type { ClientApplication } from '@toolhive/contract/client-application';
import { entryValue } from '@toolhive/clients/entry';
import type { Entry, EntryValue } from '@toolhive/clients/entry';
import { ownProgram } from '@toolhive/state/own-program';

/** The fields with which an entry starts or reaches its server, in all clients. */
const replaced = new Set(
  `command cmd path args arguments env envs environment env_vars envFile env_file cwd workingDirectory url serverUrl httpUrl
   uri headers http_headers requestInit env_http_headers bearer_token_env_var type transport transportType auth oauth
   source config server gallery version`.split(/\s+/),
);

/** The new entry: the way to the workload, and what else the user has set, such as approved tools. */
export function adoptedValue(
  application: ClientApplication,
  before: Readonly<Record<string, unknown>>,
  workload: Entry,
  name: string,
): EntryValue {
  const kept = Object.entries(before).filter(isKept);
  const { nameKey, storage } = application;
  const isNamed = nameKey === undefined || (storage === 'map' && typeof before[nameKey] === 'string');
  return {
    ...entryValue(application, workload, ownProgram()),
    ...(Object.fromEntries(kept) as EntryValue),
    ...(isNamed ? {} : { [nameKey]: name }),
  };
}

/** The earlier entry, with the settings that its user has changed since, such as newly approved tools. */
export function givenBackValue(
  { nameKey, extra }: ClientApplication,
  before: Readonly<Record<string, unknown>>,
  { value: present, isRenamed }: { value: Readonly<Record<string, unknown>>; isRenamed: boolean },
): EntryValue {
  const changed = Object.entries(present).filter(
    ([key, value]) =>
      isKept([key, value]) &&
      !isDeepStrictEqual(value, before[key]) &&
      key !== nameKey &&
      // ToolHive itself adds these, also instead of `null`.
      !((before[key] ?? undefined) === undefined && isDeepStrictEqual(value, extra[key])),
  );
  // Where the name is a field beside the key of the entry, it can be another one: `puppeteer: {name: Puppeteer}`.
  const isEarlier = nameKey === undefined || (!isRenamed && before[nameKey] !== undefined);
  const name = isEarlier ? {} : { [nameKey]: present[nameKey] };
  return { ...before, ...Object.fromEntries(changed), ...name } as EntryValue; // fields of parsed entries
}

function isKept([key, value]: [string, unknown]): boolean {
  return !replaced.has(key) && isPlain(value) && !isSecret(key, value);
}

function isSecret(key: string, value: Plain): boolean {
  return (typeof value === 'object' ? value : [String(value)]).some((text) => isCredential(key, text));
}

type Plain = string | number | boolean | readonly string[];

function isPlain(value: unknown): value is Plain {
  if (Array.isArray(value)) return value.every((item) => typeof item === 'string');
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';
}
