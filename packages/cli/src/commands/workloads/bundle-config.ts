import { resolve } from 'node:path';
import type { BundleField } from '@toolhive/contract/bundle';
import { checkedWord, mustBeGiven, secretTarget } from '@toolhive/bundles/user-config';
import type { Client } from '@toolhive/contract/client';
import { ThvError, invalid } from '@toolhive/contract/failure';
import { printable } from '@toolhive/contract/printable';
import type { CreateWorkload } from '@toolhive/contract/workload';
import type { CommandCall } from '../../command.ts';
import { ask, canAsk } from '../../prompt.ts';
import { readPairs } from './assignments.ts';
import { expanded } from './source.ts';
import type { StoredSecrets } from './stored-secrets.ts';

interface Asking extends Pick<CommandCall, 'flags' | 'out' | 'signal'> {
  daemon: Client;
  secrets: StoredSecrets;
  isBundle: boolean;
}

/**
 * Completes a request for a bundle with the values that the bundle asks for: from --config, stored secrets, and the
 * user's answers. Sensitive values become secrets. The request names the content for which the values were given.
 */
export async function withBundleConfig(request: CreateWorkload, asking: Asking): Promise<CreateWorkload> {
  const { flags, daemon, isBundle, signal } = asking;
  const pairs = readPairs('config', flags.list('config'));
  if (!isBundle) {
    if (pairs.length === 0) return request;
    throw invalid('--config is for bundles, and this server is not a bundle', {
      hint: 'set environment variables with --env instead',
    });
  }
  const { image: source = '', registry_group, ca_certificate } = request;
  const body = {
    source,
    ...(registry_group === undefined ? {} : { registry_group }),
    ...(ca_certificate === undefined ? {} : { ca_certificate }),
  };
  const bundle = await daemon.inspectBundle({ body }, { signal });
  const given = Map.groupBy(pairs, ([key]) => key);
  const unknown = [...given.keys()].find((key) => !bundle.fields.some((field) => field.key === key));
  if (unknown !== undefined) {
    const keys = bundle.fields.map(({ key }) => key);
    throw invalid(
      `invalid --config: the bundle ${printable(bundle.name)} has no field ${printable(unknown)}`,
      {
        hint: keys.length === 0 ? 'it asks for nothing' : `its fields are ${printable(keys.join(', '))}`,
      },
    );
  }
  const name = request.name ?? bundle.name.replaceAll(/[^A-Za-z0-9-]+/g, '-');
  const values = new Map([...given].map(([key, all]) => [key, all.map(([, value]) => value)]));
  const references = [...(request.secrets ?? [])];
  await complete({ name, fields: bundle.fields, values, references }, asking);
  const config: Record<string, string | string[]> = {};
  for (const field of bundle.fields) {
    const words = values.get(field.key);
    if (words === undefined) continue;
    const checked = words.map((word) => (word === '' ? word : wordFor(field, word)));
    if (field.sensitive && checked.join('') !== '') {
      references.push({
        name: await storeOnce(name, field, checked, asking),
        target: secretTarget(field.key),
      });
    } else config[field.key] = field.multiple ? checked : (checked[0] ?? '');
    if (!field.multiple && words.length > 1)
      throw invalid(`invalid --config: ${field.key} takes one value, and ${words.length} were given`);
  }
  return {
    ...request,
    ...(source.startsWith('mcpb://') ? { image: bundle.source } : {}),
    user_config: config,
    secrets: references.length > 0 ? references : undefined,
  };
}

interface Incomplete {
  name: string;
  fields: readonly BundleField[];
  values: Map<string, string[]>;
  references: { name: string; target: string }[];
}

/** Adds the missing values: stored secrets, then the user's answers. */
async function complete({ name, fields, values, references }: Incomplete, asking: Asking): Promise<void> {
  const hasSecret = ({ key }: BundleField): boolean =>
    references.some(({ target }) => target === secretTarget(key));
  const isMissing = (field: BundleField): boolean =>
    mustBeGiven(field) && !values.has(field.key) && !hasSecret(field);
  const missing = fields.filter(isMissing);
  if (missing.length === 0) return;
  const stored = missing.some(({ sensitive }) => sensitive) ? await storedNames(asking) : new Set<string>();
  for (const { key, sensitive } of missing) {
    if (!sensitive || !stored.has(secretName(name, key))) continue;
    asking.out.note(`${key}: the stored secret ${secretName(name, key)}`);
    references.push({ name: secretName(name, key), target: secretTarget(key) });
  }
  const open = missing.filter(isMissing);
  if (open.length === 0) return;
  if (!canAsk()) throw needsMore(name, open);
  for (const field of open) values.set(field.key, await answersTo(field, asking));
}

const secretName = (name: string, key: string): string => `${name}-${key}`;

/** None where secrets are not set up, or cannot be listed. */
async function storedNames({ daemon, signal }: Asking): Promise<Set<string>> {
  try {
    const { keys } = await daemon.listSecrets({}, { signal });
    return new Set(keys.map(({ key }) => key));
  } catch (thrown) {
    if (thrown instanceof ThvError && thrown.kind !== 'cancelled') return new Set();
    throw thrown;
  }
}

async function storeOnce(
  name: string,
  { key }: BundleField,
  [value = '', ...others]: readonly string[],
  { secrets, out }: Asking,
): Promise<string> {
  if (others.length > 0) throw invalid(`invalid --config: ${key} is sensitive, and takes one value`);
  const stored = await secrets.store(secretName(name, key), value);
  out.note(`stored ${key} as the secret ${stored}`);
  return stored;
}

/** Asks until the answer fits. Enter accepts what the bundle proposes, which the question shows. */
async function answersTo(field: BundleField, { signal, out }: Asking): Promise<string[]> {
  const { key, title, description, type, sensitive, required, multiple, proposal } = field;
  const proposed = proposal === undefined ? [] : [proposal].flat();
  const about = [title || key, description].filter(Boolean).join(': ').replace(/\.$/, '');
  const hints = [
    type === 'string' ? [] : [type],
    multiple ? ['several separated by commas'] : [],
    proposed.length > 0 ? [`Enter for ${proposed.join(', ')}`] : required ? [] : ['Enter for none'],
    proposed.length > 0 && !required ? ['- for none'] : [],
  ].flat();
  const question = `${about}${hints.length === 0 ? '' : ` (${hints.join(', ')})`}:`;
  for (;;) {
    const answer = (await ask(question, { signal, hidden: sensitive })).trim();
    if (answer === '' && proposed.length > 0) return proposed;
    if ((answer === '' || answer === '-') && !required) return [''];
    const words = multiple ? answer.split(',').map((word) => word.trim()) : [answer];
    try {
      if (answer !== '') return words.map((word) => wordFor(field, word));
      out.note(`${key} is required`);
    } catch (thrown) {
      if (!(thrown instanceof ThvError) || thrown.kind !== 'invalid') throw thrown;
      out.note(thrown.message);
    }
  }
}

/** A value in its one spelling. The daemon has a different working directory, so paths become absolute here. */
function wordFor(field: BundleField, word: string): string {
  if (field.type !== 'directory' && field.type !== 'file') return checkedWord(field, word);
  const [, path = '', suffix = ''] = /^(.*?)(:r[ow])?$/s.exec(word) ?? [];
  return `${checkedWord(field, resolve(expanded(path)))}${suffix}`;
}

function needsMore(bundle: string, fields: readonly BundleField[]): Error {
  const ways = fields.map(({ key, title, description, sensitive, required, proposal }) => {
    const proposed = proposal === undefined ? '' : ` (the bundle proposes ${[proposal].flat().join(', ')})`;
    const way = sensitive
      ? `store it with thv secret set ${secretName(bundle, key)}`
      : `add --config ${key}=VALUE${required ? '' : ` or --config ${key}= for none`}`;
    return `${way}${proposed}. ${key}: ${(description || title).replace(/\.$/, '')}`;
  });
  return invalid(`${bundle} needs ${fields.map(({ key }) => key).join(', ')}`, {
    hint: printable(ways.join('; ')),
  });
}
