import { isCredential, replaceCredentials, replaceUrlCredentials } from '@toolhive/contract/credential';
import type { CreateWorkload } from '@toolhive/contract/workload';
import { secretPlace } from '@toolhive/secrets/reference';

/** A credential that a secret replaces. */
export interface Credential {
  /** The environment variable or, for a header, the header. */
  target: string;
  value: string;
  kind: 'variable' | 'header' | 'text';
}

/** The credentials in a request. Each value in arguments and in the URL has a target of its own. */
export function credentialsIn(request: CreateWorkload): Credential[] {
  const { env_vars: variables, headers, cmd_arguments: args, url } = request;
  const found: Credential[] = [
    ...Object.entries(variables ?? {}).flatMap(([target, value]) =>
      isCredential(target, value) ? [{ target, value, kind: 'variable' as const }] : [],
    ),
    ...(headers ?? []).flatMap(({ name: target, secret, default: value = '' }) =>
      !secret && isCredential(target, value) ? [{ target, value, kind: 'header' as const }] : [],
    ),
  ];
  const taken = new Set(Object.keys(variables ?? {}));
  const texts = new Map<string, string>();
  const note = (name: string, value: string): string => {
    if (!texts.has(value)) texts.set(value, targetFor(name, taken));
    return '';
  };
  replaceCredentials(args ?? [], note);
  if (url !== undefined) replaceUrlCredentials(url, note);
  return [...found, ...[...texts].map(([value, target]) => ({ target, value, kind: 'text' as const }))];
}

function targetFor(name: string, taken: Set<string>): string {
  const wanted =
    name
      .toUpperCase()
      .replaceAll(/[^A-Z0-9]+/g, '_')
      .replace(/^(?=\d)|^_+$/, 'KEY_') || 'KEY';
  let target = wanted;
  for (let count = 2; taken.has(target); count += 1) target = `${wanted}_${count}`;
  taken.add(target);
  return target;
}

/** The request with stored secrets in the places of its credentials. `keys` has the key of each credential. */
export function withSecrets(request: CreateWorkload, keys: ReadonlyMap<Credential, string>): CreateWorkload {
  const { env_vars: variables, headers, cmd_arguments: args, url, secrets } = request;
  const all = [...keys];
  const moved = new Set(all.flatMap(([{ kind, target }]) => (kind === 'variable' ? [target] : [])));
  const targets = new Map(
    all.flatMap(([{ kind, value, target }]) => (kind === 'text' ? [[value, target] as const] : [])),
  );
  const headerKeys = new Map(
    all.flatMap(([{ kind, target }, key]) => (kind === 'header' ? [[target, key] as const] : [])),
  );
  const place = (_name: string, value: string): string => {
    const target = targets.get(value);
    return target === undefined ? value : secretPlace(target);
  };
  return {
    ...request,
    env_vars: Object.fromEntries(Object.entries(variables ?? {}).filter(([name]) => !moved.has(name))),
    secrets: [
      ...(secrets ?? []),
      ...all.flatMap(([{ kind, target }, name]) => (kind === 'header' ? [] : [{ name, target }])),
    ],
    ...(args ? { cmd_arguments: replaceCredentials(args, place) } : {}),
    ...(url === undefined ? {} : { url: replaceUrlCredentials(url, place) }),
    ...(headers
      ? {
          headers: headers.map((header) => {
            const key = headerKeys.get(header.name);
            return key === undefined
              ? header
              : { ...header, secret: true, default: `${key},target=${header.name}` };
          }),
        }
      : {}),
  };
}
