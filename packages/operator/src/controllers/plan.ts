import * as z from 'zod';
import { laterFieldProblems } from '../crds/later-fields.ts';
import { mcpRemoteProxy } from '../crds/mcp-remote-proxy.ts';
import { mcpServer } from '../crds/mcp-server.ts';
import { Dispute, NameClash } from '../runtime/applier.ts';
import type { Finding } from '../runtime/conditions.ts';
import { withoutNulls } from '../templates/merge.ts';
import type { Plan } from '../templates/objects.ts';
import { Unenforceable, enforcementOf } from '../templates/permissions.ts';
import type { Enforcement } from '../templates/permissions.ts';
import { InvalidSpec, runConfigOf } from '../templates/run-config.ts';
import type { Proxied, RemoteProxySpec, ServerSpec } from '../templates/run-config.ts';
import { storageOf } from '../templates/session-storage.ts';
import { finding, ownerOf } from './context.ts';
import type { Context, CustomResource } from './context.ts';
import { UnresolvedReference } from './references.ts';
import { versionOf } from './secret-reads.ts';
import type { References } from './references.ts';

/** A problem outside of the objects that the operator watches is looked at again after this time. */
export const PROBLEM_POLL_MS = 30_000;

/** A problem that stops a pass, with the condition that names the problem. */
export class Stop extends Error {
  readonly finding: Finding;
  readonly againAfterMs: number | undefined;

  constructor(found: Finding, againAfterMs?: number) {
    super(found.message);
    this.finding = found;
    this.againAfterMs = againAfterMs;
  }
}

/** The stop that an error of a pass means. Undefined for an error that another attempt may not meet. */
export function stopOf(error: unknown): Stop | undefined {
  if (error instanceof Stop) return error;
  if (error instanceof InvalidSpec)
    return new Stop(finding('ReferencesResolved', false, 'InvalidSpec', error.message));
  if (error instanceof UnresolvedReference)
    return new Stop(finding('ReferencesResolved', false, error.reason, error.message), PROBLEM_POLL_MS);
  if (error instanceof Unenforceable)
    return new Stop(finding('PermissionsEnforced', false, 'Unenforceable', error.message));
  if (error instanceof NameClash)
    return new Stop(finding('ReferencesResolved', false, 'NameClash', error.message), PROBLEM_POLL_MS);
  if (error instanceof Dispute)
    return new Stop(finding('ObjectsAsWanted', false, 'Disputed', error.message), error.againAfterMs);
  return undefined;
}

/** The spec with all defaults. Throws `InvalidSpec`. */
export function specOf({ kind, spec }: CustomResource): ServerSpec | RemoteProxySpec {
  const definition = kind === 'MCPServer' ? mcpServer : mcpRemoteProxy;
  const problems = laterFieldProblems(definition.laterFields ?? [], spec);
  if (problems.length > 0) throw new InvalidSpec(problems.join('; '));
  const parsed = definition.spec.safeParse(spec);
  if (!parsed.success) throw new InvalidSpec(`invalid spec: ${z.prettifyError(parsed.error)}`);
  const { data } = parsed;
  if (!('podTemplateSpec' in data) || data.podTemplateSpec === undefined) return data;
  return { ...data, podTemplateSpec: withoutNulls(data.podTemplateSpec) as ServerSpec['podTemplateSpec'] };
}

/** The part of a pod template that ToolHive relies on. The API server checks the rest when the template is applied. */
const PodTemplate = z.looseObject({
  metadata: z
    .looseObject({
      labels: z.record(z.string(), z.string()).optional(),
      annotations: z.record(z.string(), z.string()).optional(),
    })
    .optional(),
  spec: z
    .looseObject({
      containers: z.array(z.looseObject({ name: z.string() })).optional(),
      initContainers: z.array(z.looseObject({ name: z.string() })).optional(),
      volumes: z.array(z.looseObject({ name: z.string() })).optional(),
      hostNetwork: z.boolean().optional(),
    })
    .optional(),
});

/** Checks the pod template of a server. Throws `Stop`. */
export function checkTemplate({ podTemplateSpec }: ServerSpec): Finding[] {
  if (podTemplateSpec === undefined) return [];
  const parsed = PodTemplate.safeParse(podTemplateSpec);
  if (!parsed.success) {
    throw new Stop(
      finding(
        'PodTemplateValid',
        false,
        'InvalidPodTemplateSpec',
        `spec.podTemplateSpec is not a pod template: ${z.prettifyError(parsed.error)}`,
      ),
    );
  }
  return [finding('PodTemplateValid', true, 'ValidPodTemplateSpec', 'The pod template is valid.')];
}

/** Checks how many pods there may be. Throws `Stop`. */
export function checkReplicas(spec: ServerSpec | RemoteProxySpec): Finding[] {
  const { replicas } = spec;
  const servers = 'image' in spec ? spec.backendReplicas : undefined;
  const isStdio = spec.transport === 'stdio';
  const [field] =
    Object.entries({ replicas, backendReplicas: servers }).find(([, count = 0]) => count > 1) ?? [];
  if (field === undefined) return spec.sessionStorage === undefined ? [] : [sharingFinding(spec)];
  if (!isStdio)
    return [
      finding('ReplicasSupported', true, 'SealedSessions', 'Every proxy pod serves every session.'),
      sharingFinding(spec),
    ];
  throw new Stop(
    finding(
      'ReplicasSupported',
      false,
      'StdioNeedsOnePod',
      `spec.${field} is more than 1, but a stdio server has one standard input, which only one proxy can use: set spec.${field} to 1, or use a server with transport streamable-http`,
    ),
  );
}

/** Says whose calls the rate limits count. */
export function checkRateLimits(spec: ServerSpec | RemoteProxySpec): Finding[] {
  const { rateLimiting, oidcConfig } = spec;
  if (rateLimiting === undefined) return [];
  const { tools = [] } = rateLimiting;
  const users = [rateLimiting, ...tools].some(({ perUser }) => perUser !== undefined);
  const isUseless = users && oidcConfig === undefined;
  const note = isUseless ? ' Limits for each user have no effect without spec.oidcConfig.' : '';
  const address = storageOf(spec)?.address;
  return [
    spec.transport === 'stdio'
      ? finding('RateLimitsShared', true, 'OneProxy', `The only proxy counts all calls.${note}`)
      : address === undefined
        ? finding(
            'RateLimitsShared',
            false,
            'NoSessionStorage',
            `Each proxy pod allows as many calls as the limits say: set spec.sessionStorage for limits over all pods.${note}`,
          )
        : finding(
            'RateLimitsShared',
            true,
            'SessionStorage',
            `The calls of all proxy pods are counted at ${address}. While it does not answer, each pod counts for itself.${note}`,
          ),
  ];
}

/** Describes the guarantee at the end of a proxy pod. */
function sharingFinding(spec: ServerSpec | RemoteProxySpec): Finding {
  const { address } = storageOf(spec) ?? {};
  if (spec.transport === 'stdio')
    return finding(
      'SessionsShared',
      false,
      'OneProxy',
      'spec.sessionStorage has no effect, because a stdio server has one proxy.',
    );
  if (address === undefined)
    return finding(
      'SessionsShared',
      false,
      'NoSessionStorage',
      'If a proxy pod ends, its sessions continue at another one without the events that their clients have missed, their subscriptions, and the calls that wait for an answer of the client.',
    );
  return finding(
    'SessionsShared',
    true,
    'SessionStorage',
    `If a proxy pod ends, its sessions continue at another one with the missed events and the subscriptions, which are stored at ${address}. Calls under way end with an error.`,
  );
}

/**
 * Collects everything that decides the children of a resource, and says how its access is protected. Throws `InvalidSpec`
 * and `Unenforceable`.
 */
export function planOf(
  { settings, isOpenShift }: Pick<Context, 'settings' | 'isOpenShift'>,
  resource: CustomResource,
  { spec, references }: { spec: ServerSpec | RemoteProxySpec; references: References },
): { plan: Plan; access: Finding } {
  const { kind, metadata } = resource;
  const { tools, exchange, oidcData, authorization, profile, secretVersions, storageVersions, toolPins } =
    references;
  const proxied = {
    kind,
    name: metadata.name,
    namespace: metadata.namespace ?? '',
    spec,
    proxyHost: settings.proxyHost,
    hasVault: usesVault(spec),
    profile,
    ...(tools === undefined ? {} : { tools }),
    ...(exchange === undefined ? {} : { exchange }),
    ...(oidcData === undefined ? {} : { oidcData }),
  } as Proxied;
  const enforcement = kind === 'MCPServer' ? enforcementOf(profile) : undefined;
  const access =
    enforcement === undefined
      ? authenticationFinding(spec)
      : enforcementFinding(spec as ServerSpec, enforcement);
  const plan = {
    proxied,
    owner: ownerOf(resource),
    runConfig: runConfigOf(proxied),
    runnerImage: settings.runnerImage,
    isOpenShift,
    secretVersions,
    ...oidcVersionOf(oidcData),
    ...(storageVersions === undefined ? {} : { storageVersions }),
    ...(toolPins === undefined ? {} : { toolPins }),
    imagePullSecrets: settings.imagePullSecrets,
    restartedAt: restartOf(resource),
    ...(authorization === undefined ? {} : { authorization }),
    ...(enforcement === undefined ? {} : { enforcement }),
  };
  return { plan, access };
}

/** The proxy reads the client secret from the ConfigMap when it starts, so that a change has to replace the pod. */
function oidcVersionOf(data: Record<string, string> | undefined): { oidcSecretVersion?: string } {
  const secret = data?.['clientSecret'];
  return secret === undefined ? {} : { oidcSecretVersion: versionOf('clientSecret', secret) };
}

function authenticationFinding({ oidcConfig }: ServerSpec | RemoteProxySpec): Finding {
  return oidcConfig === undefined
    ? finding(
        'AuthConfigured',
        false,
        'NoAuthentication',
        'Everything that can reach the proxy can use the remote server: set spec.oidcConfig, or restrict the callers with a NetworkPolicy.',
      )
    : finding('AuthConfigured', true, 'AuthConfigured', 'Clients have to authenticate.');
}

function enforcementFinding({ podTemplateSpec }: ServerSpec, { egress }: Enforcement): Finding {
  const template = PodTemplate.safeParse(podTemplateSpec ?? {});
  if (template.data?.spec?.hostNetwork === true) {
    throw new Unenforceable(
      'spec.podTemplateSpec uses the network of the node, to which no NetworkPolicy applies',
    );
  }
  const messages = {
    none: 'A NetworkPolicy denies all outbound connections.',
    policy: 'A NetworkPolicy allows outbound connections to public addresses and DNS.',
    gateway:
      'A NetworkPolicy allows outbound connections to the egress gateway only, and the gateway enforces the host rules.',
  };
  return finding(
    'PermissionsEnforced',
    true,
    'NetworkPolicy',
    `${messages[egress.kind]} The cluster needs a network plugin that enforces NetworkPolicy objects.`,
  );
}

function usesVault({ resourceOverrides }: ServerSpec | RemoteProxySpec): boolean {
  const annotations = resourceOverrides?.proxyDeployment?.podTemplateMetadataOverrides?.annotations;
  return annotations?.['vault.hashicorp.com/agent-inject'] === 'true';
}

const RESTARTED_AT = 'mcpserver.toolhive.stacklok.dev/restarted-at';

/** The wanted restart, if its time can be parsed. A rolling restart is a change of the pod templates. */
export function restartOf({ metadata }: CustomResource): string | undefined {
  const wanted = metadata.annotations?.[RESTARTED_AT];
  return wanted === undefined || Number.isNaN(Date.parse(wanted)) ? undefined : wanted;
}
