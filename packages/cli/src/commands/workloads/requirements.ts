import { ThvError, invalid } from '@toolhive/contract/failure';
import type { Client } from '@toolhive/contract/client';
import type { CreateWorkload } from '@toolhive/contract/workload';
import type { CommandCall } from '../../command.ts';
import { ask, canAsk } from '../../prompt.ts';
import { createSecret } from '../secrets/setup.ts';
import { optionalNotes } from '@toolhive/pasted/pasted';
import type { Need } from '@toolhive/pasted/pasted';
import { filled, filledRequest } from '@toolhive/pasted/placeholders';
import type { Catalogued } from './catalogued.ts';

/** The server's inputs, and how to ask for them. */
interface Asking extends Pick<CommandCall, 'out' | 'signal'> {
  daemon: Client;
}

/**
 * Completes a request with missing inputs of the server: stored secrets, and values that the user types. Without a
 * terminal, throws with all missing inputs.
 */
export async function withNeeds(
  request: CreateWorkload,
  { name, needs }: Catalogued,
  asking: Asking,
): Promise<CreateWorkload> {
  const missing = needs.filter((need) => isMissing(need, request));
  // The daemon takes the headers of a registry entry only if the request has none.
  if (missing.length === 0 && !request.headers?.length) return request;
  const stored = missing.some(canBeStored) ? await storedNames(asking) : new Set<string>();
  const answers = new Map<Need, Answer>();
  for (const need of missing) {
    const known = canBeStored(need) ? storedFor(need, name, stored) : undefined;
    if (known === undefined) continue;
    asking.out.note(`${need.name}: the stored secret ${known}`);
    answers.set(need, { secret: known });
  }
  const unknown = missing.filter((need) => !answers.has(need));
  const required = unknown.filter((need) => need.required);
  if (required.length > 0 && !canAsk()) throw needsMore(name, required);
  if (!canAsk()) for (const note of optionalNotes(unknown)) asking.out.note(note);
  for (const need of canAsk() ? unknown : []) {
    const answer = await answerTo(need, name, asking);
    if (answer !== undefined) answers.set(need, answer);
  }
  return completed(request, needs, answers);
}

/** A literal value, or the name of the secret that contains it. */
type Answer = { value: string } | { secret: string };

/** Headers can be stored even if they are not secret. Servers get no secrets as arguments. */
function canBeStored({ kind, secret }: Need): boolean {
  return kind !== 'placeholder' && (secret || kind === 'header');
}

function isMissing(need: Need, request: CreateWorkload): boolean {
  const { kind, name, token, required, isOffered = false, default: preset } = need;
  if ((!required && !isOffered) || (preset !== undefined && preset !== '')) return false;
  if (kind === 'placeholder' && token === undefined) return !request.url_variables?.[name];
  if (kind === 'header') return !hasHeader(request, name);
  if (kind !== 'variable') return true;
  const isSecret = request.secrets?.some(({ target }) => target === name) === true;
  return !isSecret && !request.env_vars?.[name];
}

function hasHeader({ headers }: CreateWorkload, name: string): boolean {
  return headers?.some((own) => own.default && own.name.toLowerCase() === name.toLowerCase()) === true;
}

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

/** This server's own secret first, because another server's secret may have the same variable name. */
function storedFor({ kind, name }: Need, server: string, stored: ReadonlySet<string>): string | undefined {
  const candidates = [ownSecret(server, name), ...(kind === 'variable' ? [name] : [])];
  return candidates.find((candidate) => stored.has(candidate));
}

function ownSecret(server: string, name: string): string {
  return `${server}-${name}`;
}

function needsMore(server: string, needs: readonly Need[]): Error {
  const names = needs.map(({ name }) => name);
  const ways = needs.map((need) => {
    if (need.token !== undefined) return `replace ${need.token} in the configuration`;
    if (need.kind === 'placeholder') return `add --url-variable ${need.name}=VALUE`;
    return canBeStored(need)
      ? `store it with thv secret set ${need.kind === 'header' ? ownSecret(server, need.name) : need.name}`
      : `add --env ${need.name}=VALUE`;
  });
  const meanings = needs.flatMap(({ name, description }) =>
    description === '' ? [] : `${name}: ${description.replace(/\.$/, '')}`,
  );
  return invalid(`${server} needs ${names.join(', ')}`, { hint: [...ways, ...meanings].join('; ') });
}

/** Undefined for an empty answer about a value that the server can do without. */
async function answerTo(
  need: Need,
  server: string,
  { daemon, out, signal }: Asking,
): Promise<Answer | undefined> {
  if (need.description !== '') out.note(`${need.name}: ${need.description}`);
  const value = await valueOf(need, server, signal);
  if (value === undefined) return undefined;
  if (!canBeStored(need) || !need.secret) return { value };
  const key = ownSecret(server, need.name);
  await createSecret(daemon, { key, value }, { out, signal });
  out.note(`stored as the secret ${key}`);
  return { secret: key };
}

/** The value that the user types, or the author's text with the values that the user types. */
async function valueOf(
  { name, required, secret, template }: Need,
  server: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  const answers = new Map<string, string>();
  const asked = async (question: string): Promise<string> => {
    const shown = required ? question : `${question} (optional)`;
    const value = (await ask(`${shown}:`, { signal, hidden: secret })).trim();
    if (value === '' && required) throw invalid(`${server} needs ${question}`);
    return value;
  };
  if (template === undefined) return (await asked(name)) || undefined;
  for (const open of template.open) {
    if (answers.has(open.token)) continue;
    const value = await asked(open.name);
    if (value === '') return undefined;
    answers.set(open.token, value);
  }
  return filled(template.text, answers);
}

function completed(
  request: CreateWorkload,
  needs: readonly Need[],
  answers: ReadonlyMap<Need, Answer>,
): CreateWorkload {
  const variables = [...answers].filter(([{ kind }]) => kind === 'variable');
  const secrets = variables.flatMap(([{ name: target }, answer]) =>
    'secret' in answer ? [{ name: answer.secret, target }] : [],
  );
  const plain = variables.flatMap(([{ name }, answer]) => ('value' in answer ? [[name, answer.value]] : []));
  const places = [...answers].flatMap(([{ token }, answer]) =>
    token !== undefined && 'value' in answer ? [[token, answer.value] as const] : [],
  );
  const headers = needs.flatMap((need) => {
    const { kind, token: _token, template: _template, isOffered, ...header } = need;
    const answer = answers.get(need);
    if (kind !== 'header' || (answer === undefined && isOffered === true)) return [];
    if (hasHeader(request, header.name)) return [];
    if (answer === undefined) return [header];
    return 'value' in answer
      ? [{ ...header, default: answer.value }]
      : [{ ...header, secret: true, default: `${answer.secret},target=${header.name}` }];
  });
  const base = filledRequest(request, new Map(places));
  const inUrl = [...answers].flatMap(([{ kind, name, token }, answer]) =>
    kind === 'placeholder' && token === undefined && 'value' in answer ? [[name, answer.value]] : [],
  );
  return {
    ...base,
    env_vars: { ...base.env_vars, ...Object.fromEntries(plain) },
    secrets: [...(base.secrets ?? []), ...secrets],
    ...(inUrl.length === 0 ? {} : { url_variables: { ...base.url_variables, ...Object.fromEntries(inUrl) } }),
    ...(headers.length === 0 ? {} : { headers: [...(base.headers ?? []), ...headers] }),
  };
}
