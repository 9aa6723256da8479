import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { invalid } from '@toolhive/contract/failure';
import { readText, unreadable } from '../../read-text.ts';

/** Parses `NAME=VALUE` arguments. Errors name the flag but never the value, which may be a secret. */
export function readAssignments(flag: string, texts: readonly string[]): Record<string, string> {
  return Object.fromEntries(readPairs(flag, texts));
}

/** The same with duplicates, for callers that need every value. */
export function readPairs(flag: string, texts: readonly string[]): (readonly [string, string])[] {
  return texts.map((text) => {
    const equals = text.indexOf('=');
    if (equals < 1) throw invalid(`--${flag} takes NAME=VALUE`, { hint: 'put the name first, then =' });
    return [text.slice(0, equals).trim(), text.slice(equals + 1)];
  });
}

/**
 * Reads an environment file: one `NAME=VALUE` per line, optionally after `export`. Lines that begin with # are
 * comments.
 */
export async function readEnvFile(path: string, flag: string): Promise<Record<string, string>> {
  const lines = (await readText(path, flag)).split(/\r?\n/);
  const assignments = lines
    .map((line) => line.trim().replace(/^export\s+/, ''))
    .filter((line) => !line.startsWith('#') && line.indexOf('=') > 0);
  return Object.fromEntries(
    assignments.map((line) => {
      const equals = line.indexOf('=');
      return [line.slice(0, equals).trim(), line.slice(equals + 1)];
    }),
  );
}

/** Reads all variable files in a directory, in alphabetical order, without hidden files. */
export async function readEnvFolder(path: string, flag: string): Promise<Record<string, string>> {
  const entries = await readdir(path, { withFileTypes: true }).catch((cause: unknown) => {
    throw unreadable(path, flag, cause);
  });
  const names = entries
    .filter((entry) => !entry.isDirectory() && !entry.name.startsWith('.'))
    .map(({ name }) => name)
    .toSorted();
  const files = await Promise.all(names.map((name) => readEnvFile(join(path, name), flag)));
  return Object.assign({}, ...files) as Record<string, string>;
}

/** Reads a file with a JSON object. Errors contain `flag` as the user typed it. */
export async function readJsonObject(path: string, flag: string): Promise<Record<string, unknown>> {
  const text = await readText(path, flag);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // Without its cause, which quotes the content.
    throw invalid(`invalid ${flag}: ${path} is not JSON`);
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw invalid(`invalid ${flag}: ${path} does not contain a JSON object`);
  }
  return value as Record<string, unknown>;
}
