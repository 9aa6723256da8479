import { isDeepStrictEqual } from 'node:util';
import type { ClientApplication } from '@toolhive/contract/client-application';
import { ThvError } from '@toolhive/contract/failure';
import { entryValue } from './entry.ts';
import type { Entry, EntryValue, Program } from './entry.ts';
import { openJson } from './json-file.ts';
import { conflictIn } from './source.ts';
import type { Source } from './source.ts';
import { openToml } from './toml-file.ts';
import { openYaml } from './yaml-file.ts';

/** The changes: the value of each named entry, or undefined to remove the entry. */
export type Changes = ReadonlyMap<string, EntryValue | undefined>;

/** A configuration file that was read and understood. */
interface EntryFile {
  /** All entries, by name. */
  entries: ReadonlyMap<string, unknown>;
  /** The text with the changes. All other bytes stay the same. */
  change(changes: Changes): string;
  /** Everything that the file says, but for the named entries. */
  without(names: ReadonlySet<string>): unknown;
}

/** Parses a format. Throws `conflict`, with the position, if the file cannot be edited safely. */
export type OpenFormat = (source: Source, application: ClientApplication) => EntryFile;

const formats: Record<ClientApplication['format'], OpenFormat> = {
  json: openJson,
  yaml: openYaml,
  toml: openToml,
};

const byteOrderMark = '\uFEFF';

/** The entries of a file. */
export function readEntries(source: Source, application: ClientApplication): ReadonlyMap<string, unknown> {
  return open(source, application).entries;
}

/** The names of the objects in another section of the file. None if there is no such section. */
export function readSection(
  source: Source,
  application: ClientApplication,
  pointer: readonly string[],
): readonly string[] {
  const { entries } = open(source, { ...application, pointer, laterPointer: undefined, storage: 'map' });
  return [...entries].flatMap(([name, value]) => (typeof value === 'object' && value !== null ? [name] : []));
}

/** The file's text with the changes. Throws `conflict` instead of damaging other content. */
export function changeEntries(source: Source, application: ClientApplication, changes: Changes): string {
  const before = open(source, application);
  const text = before.change(changes);
  if (!isAsWanted(before, { path: source.path, text }, application, changes)) {
    throw conflictIn(source, 'is written in a way that ToolHive cannot edit safely');
  }
  return source.text.startsWith(byteOrderMark) ? byteOrderMark + text : text;
}

/** The content of a new client file with only one workload. */
export function fileWithOnly(
  application: ClientApplication,
  entry: Entry,
  program: Program = ['thv'],
): string {
  return changeEntries(
    { path: application.config.linux, text: '' },
    application,
    new Map([[entry.name, entryValue(application, entry, program)]]),
  );
}

function open(source: Source, application: ClientApplication): EntryFile {
  const text = source.text.startsWith(byteOrderMark) ? source.text.slice(1) : source.text;
  try {
    return formats[application.format]({ path: source.path, text }, application);
  } catch (cause) {
    if (cause instanceof ThvError) throw cause;
    // The parsers throw errors for endless nesting and aliases.
    throw conflictIn(source, 'is too deep or too tangled to be read', cause);
  }
}

/** The safety check after an edit: parses the result and compares. */
function isAsWanted(
  before: EntryFile,
  result: Source,
  application: ClientApplication,
  changes: Changes,
): boolean {
  const names = new Set(changes.keys());
  try {
    const after = open(result, application);
    return (
      isDeepStrictEqual(before.without(names), after.without(names)) &&
      changes.entries().every(([name, value]) => isThere(after, name, value))
    );
  } catch {
    return false; // a result that cannot be parsed is never written
  }
}

function isThere({ entries }: EntryFile, name: string, value: EntryValue | undefined): boolean {
  if (value === undefined) return !entries.has(name);
  const entry = entries.get(name);
  // Cloned, because a parser's objects have no prototype.
  return typeof entry === 'object' && isDeepStrictEqual(structuredClone(entry), structuredClone(value));
}
