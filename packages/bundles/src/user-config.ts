import { invalidField } from '@toolhive/contract/failure';
import type { Manifest, ManifestField } from './manifest.ts';
import { type ConfigValues, proposedPath } from './template.ts';

/** A value that a bundle asks its user for. */
export interface ConfigField extends ManifestField {
  key: string;
  /** A default path of the bundle on this machine. It grants nothing until the user repeats it. */
  proposal?: string | string[];
}

/** The fields of a manifest. `home` is the user's home directory, for proposals. */
export function fieldsOf({ user_config }: Manifest, home: string): ConfigField[] {
  return Object.entries(user_config).map(([key, field]) => {
    const { default: preset, ...rest } = field;
    if (preset === undefined) return { key, ...rest };
    if (!isPath(field)) return { key, ...field };
    const proposal = Array.isArray(preset)
      ? preset.map((path) => proposedPath(path, home))
      : proposedPath(String(preset), home);
    return proposal.length === 0 ? { key, ...rest } : { key, ...rest, proposal };
  });
}

const isPath = ({ type }: Pick<ManifestField, 'type'>): boolean => type === 'directory' || type === 'file';

/** Whether a user must give the value: the bundle must have it, or proposes a path that only the user can grant. */
export const mustBeGiven = ({ required, default: preset, proposal }: ConfigField): boolean =>
  proposal !== undefined || (required && preset === undefined);

export type GivenValue = string | number | boolean | readonly (string | number)[];

/** The configuration that a workload gets from a bundle. */
export interface BundleConfig {
  /** Everything that the user gave but the secrets. An empty list stands for a value that is to be left out. */
  values: Record<string, string | string[]>;
  /** The mounts that the user granted by naming a path for a field. */
  volumes: string[];
}

/** The place of a secret for a field in a list of secrets. */
export const secretTarget = (key: string): string => `${targetPrefix}${key}`;

const targetPrefix = 'user_config.';

export const isSecretTarget = (target: string): boolean => target.startsWith(targetPrefix);

/** Separates the secrets of fields from those for environment variables. */
export function splitSecrets(secrets: Readonly<Record<string, string>>): {
  variables: Record<string, string>;
  values: ConfigValues;
} {
  const entries = Object.entries(secrets);
  const isValue = ([target]: [string, string]): boolean => isSecretTarget(target);
  return {
    variables: Object.fromEntries(entries.filter((entry) => !isValue(entry))),
    values: Object.fromEntries(
      entries.filter(isValue).map(([target, value]) => [target.slice(targetPrefix.length), value]),
    ),
  };
}

/**
 * Checks the values that a user gave for the fields of a bundle. `targets` are those of the secrets. Throws `invalid` with all missing values, or with the first wrong one. Never repeats a sensitive value.
 */
export function configFor(
  bundle: string,
  fields: readonly ConfigField[],
  given: Readonly<Record<string, GivenValue>>,
  targets: readonly string[],
): BundleConfig {
  const keys = fields.map(({ key }) => key);
  const named = targets.filter(isSecretTarget).map((target) => target.slice(targetPrefix.length));
  const unknown = [...Object.keys(given), ...named].find((key) => !keys.includes(key));
  if (unknown !== undefined) {
    throw wrong(unknown, `the bundle ${bundle} has no field ${JSON.stringify(unknown)}`, {
      hint: keys.length === 0 ? 'it asks for nothing' : `its fields are ${keys.join(', ')}`,
    });
  }
  const config: BundleConfig = { values: {}, volumes: [] };
  const missing: ConfigField[] = [];
  for (const field of fields) {
    const value = given[field.key];
    const isSecret = named.includes(field.key);
    if (isSecret && value !== undefined)
      throw wrong(field.key, `${field.key} has both a value and a secret`, { hint: 'omit the value' });
    if (isSecret) continue;
    const words = value === undefined ? [] : wordsOf(field, value);
    const isEmpty = words.every((word) => word === '');
    if (value !== undefined && !isEmpty) add(config, field, words);
    else if (mustBeGiven(field) && (value === undefined || field.required)) missing.push(field);
    else if (value !== undefined) config.values[field.key] = []; // also instead of a default
  }
  if (missing.length > 0) throw missingError(bundle, missing);
  return config;
}

function add(config: BundleConfig, field: ConfigField, words: readonly string[]): void {
  const { key, sensitive, multiple } = field;
  if (sensitive) {
    throw wrong(key, `${key} is sensitive, and a plain value would be stored as readable text`, {
      hint: `store it as a secret, and use the secret with the target ${secretTarget(key)}`,
    });
  }
  const checked = words.map((word) => checkedWord(field, word));
  config.values[key] = multiple ? checked : (checked[0] ?? '');
  if (!isPath(field)) return;
  for (const [index, path] of checked.entries()) {
    const suffix = words[index]?.endsWith(':ro') === true ? ':ro' : '';
    config.volumes.push(`${path}:${path}${suffix}`);
  }
}

function wordsOf({ key, multiple }: ConfigField, value: GivenValue): string[] {
  const words = [value].flat().map(String);
  if (words.length > 1 && !multiple)
    throw wrong(key, `${key} takes one value, and ${words.length} were given`, { hint: 'give one value' });
  return words;
}

/** The value in its one spelling. Throws for a value of another type. */
export function checkedWord(field: ConfigField, word: string): string {
  const { key, type, sensitive } = field;
  if (word.includes('\0')) throw wrong(key, `${key} contains a NUL character`);
  return checks[type](field, word, sensitive ? 'the value' : JSON.stringify(word.slice(0, 100)));
}

type Check = (field: ConfigField, word: string, shown: string) => string;

const checks: Record<ConfigField['type'], Check> = {
  string: (_field, word) => word,
  number: checkedNumber,
  boolean({ key }, word, shown) {
    const lower = word.trim().toLowerCase();
    if (lower === 'true' || lower === 'false') return lower;
    throw wrong(key, `${key} takes true or false, and ${shown} is neither`);
  },
  directory: checkedPath,
  file: checkedPath,
};

function checkedNumber({ key, min, max }: ConfigField, word: string, shown: string): string {
  const number = word.trim() === '' ? NaN : Number(word);
  if (!Number.isFinite(number)) throw wrong(key, `${key} takes a number, and ${shown} is none`);
  if ((min === undefined || number >= min) && (max === undefined || number <= max)) return String(number);
  const range = `${min === undefined ? '' : ` from ${min}`}${max === undefined ? '' : ` up to ${max}`}`;
  throw wrong(key, `${key} takes a number${range}, and ${shown} is outside`);
}

function checkedPath({ key, type }: ConfigField, word: string, shown: string): string {
  const path = word.replace(/:r[ow]$/, '');
  if (path.startsWith('/') && !/[:\p{Cc}]/u.test(path))
    return path.length > 1 ? path.replace(/\/+$/, '') : path;
  throw wrong(key, `${key} takes the absolute path of a ${type}, and ${shown} is none`, {
    hint: 'start the path with a slash, and do not use a colon. Add :ro so that the server can only read',
  });
}

function missingError(bundle: string, fields: readonly ConfigField[]): Error {
  const names = fields.map(({ key }) => key).join(', ');
  const hint = fields
    .map(({ key, title, description, sensitive, required, proposal }) => {
      const paths = typeof proposal === 'string' ? [proposal] : (proposal ?? []);
      const proposed = paths.length === 0 ? '' : ` (the bundle proposes ${paths.join(', ')})`;
      const empty = required ? '' : ', or an empty value for none';
      const kind = sensitive ? `a secret with the target ${secretTarget(key)}` : 'a value';
      return `${key} takes ${kind}${empty}${proposed}: ${(description || title).replace(/\.$/, '')}`;
    })
    .join('; ');
  return invalidField('/user_config', `the bundle ${bundle} needs ${names}`, { hint });
}

const wrong = (key: string, message: string, details: { hint?: string } = {}): Error =>
  invalidField(`/user_config/${key}`, message, details);
