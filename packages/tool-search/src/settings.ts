import { invalid } from '@toolhive/contract/failure';
import { isLoopback } from '@toolhive/contract/loopback';
import { GroupName } from '@toolhive/contract/names';
import * as z from 'zod';

const seconds = (least: number): z.ZodType<number> => z.coerce.number().int().min(least).max(31_536_000);
const flag = z.enum(['true', 'false']).transform((value) => value === 'true');

/** The environment variables that configure the meta server, with their defaults. */
const schema = z.object({
  ALLOWED_GROUPS: z
    .string()
    .transform((text) => text.split(',').map((name) => name.trim()))
    .pipe(z.array(z.union([z.literal('*'), GroupName])).min(1))
    .optional(),
  MAX_TOOLS_TO_RETURN: z.coerce.number().int().min(1).max(50).default(8),
  TOOL_DISTANCE_THRESHOLD: z.coerce.number().min(0).max(1).default(1),
  MAX_TOOL_RESPONSE_TOKENS: z.coerce.number().int().min(100).optional(),
  WORKLOAD_POLLING_INTERVAL: seconds(1).default(60),
  REGISTRY_POLLING_INTERVAL: seconds(60).default(86_400),
  RUNTIME_MODE: z.enum(['docker', 'k8s']).default('docker'),
  ALLOW_INSTALL: flag.default(false),
  EMBEDDING_URL: z.url({ protocol: /^https?$/ }).optional(),
  EMBEDDING_MODEL: z.string().min(1).max(200).optional(),
  EMBEDDING_ALLOW_LOOPBACK: flag.default(false),
});

/** The settings of one meta server. */
export interface MetaSettings {
  /** The groups whose workloads are searched. `*` means all. Undefined for the group of the meta server. */
  groups: readonly string[] | undefined;
  maxTools: number;
  /** From 0 to 1. */
  maxDistance: number;
  /** The length at which a result is truncated. Undefined for no limit. */
  maxResultTokens: number | undefined;
  workloadPollingMs: number;
  registryPollingMs: number;
  /** Whether models may install servers without asking the user. */
  allowsInstall: boolean;
  embeddings: { url: string; model: string; allowsLoopback: boolean } | undefined;
}

/** Where a meta server runs: in a daemon, or in a Kubernetes cluster. */
type RuntimeMode = z.infer<typeof schema>['RUNTIME_MODE'];

/** Settings without a meaning in a cluster. */
const daemonOnly = ['ALLOW_INSTALL', 'REGISTRY_POLLING_INTERVAL'];

/** Reads the settings of a meta server from its environment variables. Throws `invalid`. */
export function metaSettings(variables: Readonly<Record<string, string>>, mode: RuntimeMode): MetaSettings {
  const given = Object.fromEntries(Object.entries(variables).filter(([, value]) => value !== ''));
  const unknown = Object.keys(given).filter((name) => !Object.hasOwn(schema.shape, name));
  if (unknown.length > 0)
    throw invalid(`unknown setting ${unknown.join(', ')} of meta-mcp`, {
      hint: `use ${Object.keys(schema.shape).join(', ')}`,
    });
  const { data, error } = schema.safeParse(given);
  if (data === undefined) {
    const [issue] = error.issues;
    throw invalid(`invalid setting ${issue?.path.join('.')} of meta-mcp: ${issue?.message}`, {
      hint: 'correct the value (-e NAME=VALUE), or omit the variable to use its default',
    });
  }
  checkMode(data.RUNTIME_MODE, mode, given);
  const { EMBEDDING_URL: url, EMBEDDING_MODEL: model } = data;
  if ((url === undefined) !== (model === undefined))
    throw invalid('meta-mcp requires both EMBEDDING_URL and EMBEDDING_MODEL', {
      hint: 'set both for embeddings, or neither',
    });
  const host = url === undefined ? '' : new URL(url).hostname.replace(/^\[|\]$/g, '');
  if (isLoopback(host) && !data.EMBEDDING_ALLOW_LOOPBACK)
    throw invalid(`EMBEDDING_URL ${url} is on this machine, which meta-mcp does not connect to by default`, {
      hint: 'set EMBEDDING_ALLOW_LOOPBACK=true for a local endpoint such as Ollama',
    });
  return {
    groups: data.ALLOWED_GROUPS,
    maxTools: data.MAX_TOOLS_TO_RETURN,
    maxDistance: data.TOOL_DISTANCE_THRESHOLD,
    maxResultTokens: data.MAX_TOOL_RESPONSE_TOKENS,
    workloadPollingMs: data.WORKLOAD_POLLING_INTERVAL * 1000,
    registryPollingMs: data.REGISTRY_POLLING_INTERVAL * 1000,
    allowsInstall: data.ALLOW_INSTALL,
    embeddings:
      url === undefined || model === undefined
        ? undefined
        : { url, model, allowsLoopback: data.EMBEDDING_ALLOW_LOOPBACK },
  };
}

function checkMode(asked: RuntimeMode, mode: RuntimeMode, given: Readonly<Record<string, string>>): void {
  if (asked === 'k8s' && mode === 'docker')
    throw invalid('RUNTIME_MODE k8s is only for a meta server that runs in a Kubernetes cluster', {
      hint: 'apply the manifest of the Meta MCP guide, or use RUNTIME_MODE=docker for the workloads on this machine',
    });
  if (asked === 'docker' && mode === 'k8s')
    throw invalid('RUNTIME_MODE docker needs a ToolHive daemon', { hint: 'set RUNTIME_MODE to k8s' });
  const unused = mode === 'k8s' ? daemonOnly.find((name) => Object.hasOwn(given, name)) : undefined;
  if (unused !== undefined)
    throw invalid(`${unused} is not supported with RUNTIME_MODE k8s`, { hint: `remove ${unused}` });
}
