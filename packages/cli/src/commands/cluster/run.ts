import { invalid } from '@toolhive/contract/failure';
import { defaultGroup } from '@toolhive/contract/names';
import type { CommandCall, FlagValues } from '../../command.ts';
import { readAssignments } from '../workloads/assignments.ts';
import { parseSecret } from '../workloads/secret-reference.ts';
import { allowOnly } from './cluster.ts';
import { inCluster, serverKind } from './connection.ts';
import type { ServerObject } from './connection.ts';
import { untilReady } from './ready.ts';

/** The flags of `thv run` that an MCPServer has a field for. */
const supported = [
  'name',
  'group',
  'transport',
  'env',
  'target-port',
  'permission-profile',
  'proxy-port',
  'proxy-mode',
  'secret',
  'tools',
  'wait',
];

/** Creates an MCPServer for a container image, and waits until the operator has started the server. */
export async function run(call: CommandCall): Promise<void> {
  const {
    arguments: [image],
    flags,
    rest,
    out,
    signal,
  } = call;
  allowOnly(flags, supported);
  if (image === undefined) throw invalid('SOURCE is missing', { hint: 'specify a container image' });
  if (image.includes('://') || !/[/:]/.test(image)) {
    throw invalid(`${image} is not a container image with a tag`, {
      hint: 'use an image that the cluster can pull, such as ghcr.io/example/server:1.2.0',
    });
  }
  const asked = flags.text('name') ?? nameOf(image);
  await inCluster(call, async (client, namespace) => {
    const created = await client.create<ServerObject>(
      serverKind,
      {
        apiVersion: serverKind.apiVersion,
        kind: serverKind.kind,
        metadata: { name: asked, namespace },
        spec: specFrom(image, rest, flags, asked),
      },
      signal,
    );
    const { name } = created.metadata;
    if (flags.has('wait')) {
      out.progress(`created MCPServer ${name} in namespace ${namespace}`);
      await untilReady(client, { name, namespace, report: out.progress, signal });
      return out.result({ name, namespace, image }, `MCPServer ${name} in namespace ${namespace} is ready`);
    }
    out.result({ name, namespace, image }, `created MCPServer ${name} in namespace ${namespace}`);
    out.note(
      `run kubectl get mcpserver ${name} --context ${flags.text('kube-context')} --namespace ${namespace} to see its status`,
    );
  });
}

function nameOf(image: string): string {
  const last = image.replace(/@.*$/, '').split('/').at(-1) ?? '';
  return last.replace(/:.*$/, '').replaceAll(/[^a-z0-9-]+/g, '-');
}

/**
 * Reads a `--secret`. As in an exported manifest, the Secret has the server's name unless the reference is `SECRET/KEY`.
 */
function secretFrom(reference: string, server: string): { name: string; key: string; targetEnvName: string } {
  const { name, target } = parseSecret(reference);
  const [key = '', secret = server] = name.split('/').toReversed();
  if (!/^[\w.-]+$/.test(key) || !/^[a-z0-9.-]+$/.test(secret) || name.split('/').length > 2)
    throw invalid('--secret takes KEY,target=VARIABLE or SECRET/KEY,target=VARIABLE with --kube-context', {
      hint: `KEY is a key in the Secret ${server}`,
    });
  return { name: secret, key, targetEnvName: target };
}

function specFrom(
  image: string,
  rest: readonly string[],
  flags: FlagValues,
  name: string,
): ServerObject['spec'] {
  const transport = flags.text('transport') ?? 'stdio';
  const targetPort = flags.isGiven('target-port') ? flags.number('target-port') : undefined;
  const profile = flags.text('permission-profile') ?? 'none';
  if (transport !== 'stdio' && targetPort === undefined) {
    throw invalid(`--target-port is required with --transport ${transport}`);
  }
  if (profile !== 'none' && profile !== 'network') {
    throw invalid(`--permission-profile is none or network with --kube-context, not ${profile}`, {
      hint: 'for other profiles, apply an MCPServer that references a ConfigMap',
    });
  }
  const env = Object.entries(readAssignments('env', flags.list('env')));
  const secrets = flags.list('secret').map((reference) => secretFrom(reference, name));
  const tools = flags.list('tools');
  const group = flags.isGiven('group') ? flags.text('group') : undefined;
  const proxyPort = flags.isGiven('proxy-port') ? flags.number('proxy-port') : undefined;
  const proxyMode = flags.isGiven('proxy-mode') ? flags.text('proxy-mode') : undefined;
  return {
    image,
    transport,
    ...(targetPort === undefined ? {} : { targetPort }),
    ...(transport !== 'stdio' || proxyMode === undefined ? {} : { proxyMode }),
    ...(proxyPort === undefined ? {} : { port: proxyPort }),
    ...(rest.length === 0 ? {} : { args: [...rest] }),
    ...(env.length === 0 ? {} : { env: env.map(([name, value]) => ({ name, value })) }),
    ...(secrets.length === 0 ? {} : { secrets }),
    ...(tools.length === 0 ? {} : { tools }),
    ...(group === undefined || group === defaultGroup ? {} : { groupRef: group }),
    permissionProfile: { type: 'builtin', name: profile },
  };
}
