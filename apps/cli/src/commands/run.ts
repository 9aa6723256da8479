import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { invalid, messageOf } from '@toolhive/contract/failure';
import { PermissionProfile, builtInProfiles } from '@toolhive/contract/permission-profile';
import { Sessions } from '@toolhive/contract/workload';
import type { CommandCall } from '../command.ts';

/** Runs a server and returns when clients can reach it. */
export async function run({
  arguments: [source = ''],
  flags,
  rest,
  out,
  client,
  signal,
}: CommandCall): Promise<void> {
  const profile = flags.text('permission-profile');
  const body = {
    ...(/^https?:\/\//i.test(source) ? { url: source } : { image: withAbsolutePath(source) }),
    name: flags.text('name'),
    transport: flags.text('transport'),
    proxy_mode: flags.text('proxy-mode'),
    proxy_port: flags.number('proxy-port'),
    target_port: flags.number('target-port'),
    host: flags.text('host'),
    sessions: Sessions.optional().parse(flags.text('sessions')), // its choices were checked
    group: flags.text('group'),
    cmd_arguments: [...rest],
    env_vars: Object.fromEntries(flags.list('env').map(parseVariable)),
    secrets: flags.list('secret').map(parseSecret),
    volumes: flags.list('volume').map(withAbsoluteSource),
    ...(profile === undefined ? {} : { permission_profile: await readProfile(profile) }),
  };
  const hive = await client();
  const { name } = await hive.createWorkload({ body }, { signal, onProgress: out.progress });
  const workload = await hive.getWorkload({ params: { name } }, { signal });
  if (flags.text('format') === 'json') return out.json(workload);
  for (const warning of workload.warnings ?? []) out.note(`note: ${warning}`);
  out.line(`${name} runs at ${workload.url}`);
}

/** The hive has a working directory of its own, so relative paths are made absolute here. */
function withAbsolutePath(source: string): string {
  const [, path] = /^go:\/\/(\.{1,2}(?:\/.*)?)$/.exec(source) ?? [];
  return path === undefined ? source : `go://${resolve(path)}`;
}

function withAbsoluteSource(volume: string): string {
  const [host = '', ...others] = volume.split(':');
  if (host === '' || others.length === 0) {
    throw invalid(`${JSON.stringify(volume)} is not a volume`, {
      hint: 'write it as HOST:CONTAINER or HOST:CONTAINER:ro',
    });
  }
  return [resolve(host), ...others].join(':');
}

function parseVariable(assignment: string): [string, string] {
  const equals = assignment.indexOf('=');
  if (equals < 1) {
    // The text may hold a secret, so only its beginning is repeated.
    throw invalid(`--env takes NAME=VALUE, not ${JSON.stringify(assignment.slice(0, 12))}`);
  }
  return [assignment.slice(0, equals), assignment.slice(equals + 1)];
}

function parseSecret(reference: string): { name: string; target: string } {
  const [, name, target] = /^([^,]+),target=(.+)$/.exec(reference) ?? [];
  if (name !== undefined && target !== undefined) return { name, target };
  // Somebody may have written the secret itself, so nothing is repeated.
  throw invalid('--secret takes NAME,target=VARIABLE', { hint: 'name a stored secret, not its value' });
}

async function readProfile(nameOrPath: string): Promise<PermissionProfile> {
  if (nameOrPath === 'stdio') return builtInProfiles.none;
  if (Object.hasOwn(builtInProfiles, nameOrPath))
    return builtInProfiles[nameOrPath as keyof typeof builtInProfiles];
  try {
    return PermissionProfile.parse(JSON.parse(await readFile(nameOrPath, 'utf8')));
  } catch (cause) {
    throw invalid(`the permission profile ${nameOrPath} cannot be used: ${messageOf(cause)}`, {
      hint: 'name none, network, or a JSON file',
      cause,
    });
  }
}
