import { isCredential, urlWithoutCredentials, withoutCredentials } from '@toolhive/contract/credential';
import type { CreateWorkload } from '@toolhive/contract/workload';
import type { CommandCall } from '../../command.ts';
import { ask, canAsk } from '../../prompt.ts';
import type { StoredSecrets } from '../workloads/stored-secrets.ts';
import { commandText } from './run-command.ts';

interface Storing extends Pick<CommandCall, 'out' | 'signal'> {
  secrets: StoredSecrets;
  /** Store without asking. */
  isWanted: boolean;
}

/** Stores pasted environment variables and headers that look like credentials if the user wants that. */
export async function withStoredCredentials(
  request: CreateWorkload,
  { secrets, isWanted, out, signal }: Storing,
): Promise<CreateWorkload> {
  const credentials = credentialsIn(request);
  if (credentials.length === 0 || !(isWanted || (await isAgreed(credentials, signal)))) return request;
  const stored = new Map<string, string>();
  for (const { name, value } of credentials) {
    const key = await secrets.store(secretKey(request, name), value);
    stored.set(name, key);
    out.note(`stored ${name} as the secret ${key}`);
  }
  return referring(request, stored);
}

/** The request with references to secrets, as if its credentials were stored, and without those in its other texts. */
export function withReferences(request: CreateWorkload): CreateWorkload {
  const { cmd_arguments: args, url } = request;
  return referring(
    {
      ...request,
      ...(args ? { cmd_arguments: withoutCredentials(args) } : {}),
      ...(url === undefined ? {} : { url: urlWithoutCredentials(url) }),
    },
    new Map(credentialsIn(request).map(({ name }) => [name, secretKey(request, name)])),
  );
}

/** Says which credentials the run config of a new workload contains, with the commands that store them as secrets. */
export function credentialWarning(request: CreateWorkload & { name: string }): string | undefined {
  const credentials = credentialsIn(request);
  if (credentials.length === 0) return undefined;
  const names = credentials.map(({ name }) => name).join(', ');
  const commands = [
    `thv rm ${request.name}`,
    ...credentials.map(({ name }) => `thv secret set ${secretKey(request, name)}`),
    // The values are omitted, because a terminal or a log keeps its output.
    commandText(withReferences(request)),
  ];
  return `the run config contains the values of ${names}. To store them as secrets, remove ${request.name} and repeat the command with --store-secrets, or run: ${commands.join(' && ')}`;
}

interface Credential {
  name: string;
  value: string;
}

function credentialsIn({ env_vars: variables, headers }: CreateWorkload): Credential[] {
  return [
    ...Object.entries(variables ?? {}).map(([name, value]) => ({ name, value })),
    ...(headers ?? []).flatMap(({ name, secret, default: value = '' }) => (secret ? [] : [{ name, value }])),
  ].filter(({ name, value }) => isCredential(name, value));
}

/** Starts with the workload name, so that two servers can have a variable with the same name. */
function secretKey({ name, image, url }: CreateWorkload, variable: string): string {
  const source =
    image
      ?.replace(/(?<=.)[@:][^/]*$/, '')
      .split('/')
      .at(-1) ?? URL.parse(url ?? '')?.hostname;
  return `${name ?? source ?? 'server'}-${variable}`;
}

/** The request with secrets in the places of the values. */
function referring(request: CreateWorkload, stored: ReadonlyMap<string, string>): CreateWorkload {
  const { env_vars: variables, secrets, headers } = request;
  return {
    ...request,
    env_vars: Object.fromEntries(Object.entries(variables ?? {}).filter(([name]) => !stored.has(name))),
    secrets: [
      ...(secrets ?? []),
      ...Object.keys(variables ?? {}).flatMap((target) => {
        const name = stored.get(target);
        return name === undefined ? [] : [{ name, target }];
      }),
    ],
    ...(headers
      ? {
          headers: headers.map((header) => {
            const name = stored.get(header.name);
            return name === undefined
              ? header
              : { ...header, secret: true, default: `${name},target=${header.name}` };
          }),
        }
      : {}),
  };
}

async function isAgreed(credentials: readonly Credential[], signal: AbortSignal): Promise<boolean> {
  if (!canAsk()) return false;
  const names = credentials.map(({ name }) => name).join(', ');
  const question = `Store ${names} as ${credentials.length === 1 ? 'a secret' : 'secrets'}? [Y/n]`;
  return /^(y(es)?)?$/i.test((await ask(question, { signal })).trim());
}
