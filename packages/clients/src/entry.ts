import { isDeepStrictEqual } from 'node:util';
import { isLoopback } from '@toolhive/contract/loopback';
import type { ClientApplication, ClientTransport } from '@toolhive/contract/client-application';

/** A workload as a client's configuration describes it. */
export interface Entry {
  name: string;
  url: string;
  transport: ClientTransport;
}

type Scalar = string | number | boolean;

/** The fields of an entry, in the order in which they are written. */
export type EntryValue = Readonly<
  Record<string, Scalar | readonly string[] | Readonly<Record<string, Scalar | readonly string[]>>>
>;

/** The words that start `thv`, for clients that reach a workload only through a command. */
export type Program = readonly string[];

/** What an application's file says about a workload. */
export function entryValue(application: ClientApplication, entry: Entry, program: Program): EntryValue {
  const { nameKey, wrapper, extra } = application;
  const way = reachedBy(application, entry) ?? startedBy(application, entry, program);
  return {
    ...(nameKey === undefined ? {} : { [nameKey]: entry.name }),
    ...(wrapper === undefined ? way : { [wrapper]: way }),
    ...extra,
  };
}

type Way = Readonly<Record<string, Scalar | readonly string[]>>;

function reachedBy(
  { urlKeys, types, typeKey }: ClientApplication,
  { url, transport }: Entry,
): Way | undefined {
  const urlKey = urlKeys[transport];
  const type = types?.[transport];
  return urlKey === undefined
    ? undefined
    : { [urlKey]: url, ...(type === undefined ? {} : { [typeKey]: type }) };
}

function startedBy(
  { types, typeKey, hasCommandList }: ClientApplication,
  { name }: Entry,
  program: Program,
): Way {
  const [command = 'thv', ...words] = program;
  const args = [...words, ...adapter, name];
  const type = types?.stdio;
  return {
    ...(type === undefined ? {} : { [typeKey]: type }),
    ...(hasCommandList ? { command: [command, ...args] } : { command, args }),
  };
}

/** The command that carries messages between a client and a workload. */
const adapter = ['proxy', 'stdio'] as const;

/** The entry fields that ToolHive writes. Other fields may contain private data, such as keys. */
export function ownFields(application: ClientApplication, value: unknown): EntryValue {
  const { nameKey, wrapper, extra } = application;
  const keys = [...(nameKey === undefined ? [] : [nameKey]), ...Object.keys(extra)];
  const way = decisiveFields(application, value);
  return { ...picked(value, keys), ...(wrapper === undefined ? way : { [wrapper]: way }) };
}

/** The fields with which an entry leads to a workload. A command only if it is that of ToolHive. */
function decisiveFields(application: ClientApplication, value: unknown): Way {
  const { urlKeys, types, typeKey, wrapper } = application;
  const way = wrapper === undefined ? value : fieldOf(value, wrapper);
  const isOurCommand = adaptedWorkload(way) !== undefined;
  const keys = [
    ...new Set(Object.values(urlKeys)),
    ...(types === undefined ? [] : [typeKey]),
    ...(isOurCommand ? ['command', 'args'] : []),
  ];
  return picked(way, keys);
}

function picked(value: unknown, keys: readonly string[]): Way {
  return Object.fromEntries(
    keys.flatMap((key) => {
      const field = fieldOf(value, key);
      const isScalar = typeof field === 'string' || typeof field === 'number' || typeof field === 'boolean';
      return isScalar || isTexts(field) ? [[key, field]] : [];
    }),
  );
}

/**
 * Where an existing entry leads: its URL, or the command of ToolHive with the workload. Undefined for other entries, for
 * example with another command.
 */
export function entryTarget({ urlKeys, wrapper }: ClientApplication, value: unknown): string | undefined {
  const way = wrapper === undefined ? value : fieldOf(value, wrapper);
  const url = Object.values(urlKeys)
    .map((key) => fieldOf(way, key))
    .find((found) => typeof found === 'string');
  const workload = adaptedWorkload(way);
  return url ?? (workload === undefined ? undefined : ['thv', ...adapter, workload].join(' '));
}

/** The workload that a command of ToolHive leads to. */
function adaptedWorkload(way: unknown): string | undefined {
  const [command, args] = [fieldOf(way, 'command'), fieldOf(way, 'args')];
  const words = [...(isTexts(command) ? command : [command]), ...(isTexts(args) ? args : [])];
  const [proxy, stdio, name] = words.slice(-3);
  return proxy === adapter[0] && stdio === adapter[1] && typeof name === 'string' ? name : undefined;
}

/**
 * Whether the existing entry leads to the workload. Only the address fields count. Users and their clients may change
 * the others, such as whether the entry is enabled.
 */
export function isUpToDate(application: ClientApplication, value: unknown, wanted: EntryValue): boolean {
  const { nameKey } = application;
  return (
    (nameKey === undefined || fieldOf(value, nameKey) === wanted[nameKey]) &&
    isDeepStrictEqual(decisiveFields(application, value), decisiveFields(application, wanted))
  );
}

const isTexts = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((item) => typeof item === 'string');

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
