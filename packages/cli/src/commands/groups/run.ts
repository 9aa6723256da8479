import { conflict, invalid, notFound } from '@toolhive/contract/failure';
import type { Client } from '@toolhive/contract/client';
import { defaultRegistry } from '@toolhive/contract/names';
import type { RegistryGroup } from '@toolhive/contract/registry';
import type { CreateWorkload } from '@toolhive/contract/workload';
import type { CommandCall } from '../../command.ts';
import { forEach } from '../workloads/many.ts';

/** Makes a group out of one of the registry, and runs all its servers. */
export async function run({
  arguments: [name = ''],
  flags,
  out,
  client,
  signal,
}: CommandCall): Promise<void> {
  const daemon = await client();
  const group = await findGroup(daemon, name, signal);
  const servers = Object.keys({ ...group.servers, ...group.remote_servers }).toSorted();
  if (servers.length === 0) throw invalid(`the group ${name} of the registry has no servers`);
  const variables = flags.list('env').map((text) => parseVariable(text, servers));
  const secrets = flags.list('secret').map((text) => parseSecret(text, servers));
  await requireNewNames(daemon, servers, signal);

  await daemon.createGroup({ body: { name } }, { signal });
  out.note(`created the group ${name}`);
  await forEach(servers, { what: 'run', out }, async (server) => {
    const own = <Part extends { server: string }>(parts: readonly Part[]): Part[] =>
      parts.filter((part) => part.server === server);
    if (!Object.hasOwn(group.servers ?? {}, server) && own([...variables, ...secrets]).length > 0) {
      throw invalid(`${server} is a remote server and takes no environment variables`, {
        hint: 'omit its --env and --secret',
      });
    }
    const body: CreateWorkload = {
      name: server,
      image: server,
      registry_group: name,
      group: name,
      env_vars: Object.fromEntries(own(variables).map(({ key, value }) => [key, value])),
      secrets: own(secrets).map(({ key, target }) => ({ name: key, target })),
    };
    await daemon.createWorkload(
      { body },
      { signal, onProgress: (step) => out.progress(`${server}: ${step}`) },
    );
    const { proxy_url: url } = await daemon.getWorkload({ params: { name: server } }, { signal });
    return { value: { url }, shown: `${server} runs at ${url}` };
  });
}

async function findGroup(daemon: Client, name: string, signal: AbortSignal): Promise<RegistryGroup> {
  const { registry } = await daemon.getRegistry({ params: { name: defaultRegistry } }, { signal });
  const groups = registry.groups ?? [];
  const group = groups.find((candidate) => candidate.name === name);
  if (group === undefined) throw notFound(`the registry has no group ${name}`, { hint: hintAbout(groups) });
  return group;
}

function hintAbout(groups: readonly RegistryGroup[]): string {
  if (groups.length === 0)
    return 'the registry has no groups. Run thv config set-registry to use another registry';
  return `the known groups are ${groups.map(({ name }) => name).join(', ')}`;
}

/** Before anything is made: half of a group would only be in the way. */
async function requireNewNames(
  daemon: Client,
  servers: readonly string[],
  signal: AbortSignal,
): Promise<void> {
  const { workloads } = await daemon.listWorkloads({ query: { all: 'true' } }, { signal });
  const taken = workloads.map(({ name }) => name).filter((name) => servers.includes(name));
  if (taken.length === 0) return;
  throw conflict(
    `${taken.length === 1 ? 'a workload has' : 'workloads have'} the same name as a server in the group: ${taken.join(', ')}`,
    { hint: 'remove them first with thv rm' },
  );
}

interface Variable {
  server: string;
  key: string;
  value: string;
}

/** Names of servers and of variables may have dots in them, so the servers that there are decide. */
function parseVariable(text: string, servers: readonly string[]): Variable {
  const equals = text.indexOf('=');
  const { server, rest } = split(text.slice(0, Math.max(0, equals)), servers, '--env', 'SERVER.NAME=VALUE');
  return { server, key: rest, value: text.slice(equals + 1) };
}

interface Secret {
  server: string;
  key: string;
  target: string;
}

function parseSecret(text: string, servers: readonly string[]): Secret {
  const [, key = '', place = ''] = /^([^,]+),target=(.+)$/.exec(text) ?? [];
  const { server, rest } = split(place, servers, '--secret', 'NAME,target=SERVER.VARIABLE');
  return { server, key, target: rest };
}

/** The error quotes only the server name, because the text may contain a secret. */
function split(
  text: string,
  servers: readonly string[],
  flag: string,
  form: string,
): { server: string; rest: string } {
  const [server] = servers
    .filter((name) => text.startsWith(`${name}.`) && text.length > name.length + 1)
    .toSorted((one, other) => other.length - one.length);
  if (server !== undefined) return { server, rest: text.slice(server.length + 1) };
  throw invalid(`${flag} takes ${form}`, { hint: `the servers of the group are ${servers.join(', ')}` });
}
