import { isLoopback } from '@toolhive/contract/loopback';
import type { ClientApplication, ClientTransport } from '@toolhive/contract/client-application';

/** A workload as a client's configuration describes it. */
export interface Entry {
  name: string;
  url: string;
  transport: ClientTransport;
}

/** The fields of an entry, in the order in which they are written. All values are scalars. */
export type EntryValue = Readonly<Record<string, string | number | boolean>>;

/** What an application's file says about a workload. */
export function entryValue(application: ClientApplication, { name, url, transport }: Entry): EntryValue {
  return {
    ...(application.nameKey === undefined ? {} : { [application.nameKey]: name }),
    [application.urlKey]: url,
    ...(application.types === undefined ? {} : { type: application.types[transport] }),
    ...application.extra,
  };
}

/** The entry fields that ToolHive writes. Other fields may contain private data, such as keys. */
export function ownFields(application: ClientApplication, value: unknown): EntryValue {
  const keys = [
    application.nameKey,
    application.urlKey,
    application.types && 'type',
    ...Object.keys(application.extra),
  ];
  return Object.fromEntries(
    keys.flatMap((key) => {
      const field = key === undefined ? undefined : fieldOf(value, key);
      const isScalar = typeof field === 'string' || typeof field === 'number' || typeof field === 'boolean';
      return key !== undefined && isScalar ? [[key, field]] : [];
    }),
  );
}

/** The URL in an existing entry. Undefined if the entry has none, for example because it starts a command. */
export function entryUrl(application: ClientApplication, value: unknown): string | undefined {
  const url = fieldOf(value, application.urlKey);
  return typeof url === 'string' ? url : undefined;
}

/**
 * Whether the existing entry leads to the workload. Only the address fields count. Users and their clients may change
 * the others, such as whether the entry is enabled.
 */
export function isUpToDate(application: ClientApplication, value: unknown, wanted: EntryValue): boolean {
  const decisive = [application.nameKey, application.urlKey, application.types && 'type'];
  return decisive.every((key) => key === undefined || fieldOf(value, key) === wanted[key]);
}

function fieldOf(value: unknown, key: string): unknown {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined;
  return (value as Record<string, unknown>)[key]; // an own field of an object
}

/** Whether two URLs lead to the same proxy. Its path and its fragment change with the transport and the name. */
export function leadToSame(one: string, other: string): boolean {
  if (one === other) return true;
  const port = loopbackPort(one);
  return port !== undefined && port === loopbackPort(other);
}

/** The port of a URL that leads to this machine. */
export function loopbackPort(text: string): string | undefined {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol)) return undefined;
  if (!isLoopback(url.hostname)) return undefined;
  return url.port || (url.protocol === 'https:' ? '443' : '80');
}
