import { EventEmitter, on, once } from 'node:events';
import { defaultGroup } from '@toolhive/contract/names';
import type { Member, MemberChange, Members } from '@toolhive/core/meta-server';
import type { requestedOidc } from '@toolhive/access/oidc-config';
import type { KubernetesClient } from '@toolhive/kubernetes/client';
import type { KubernetesObject, ResourceType } from '@toolhive/kubernetes/object';
import { acceptedTokens } from '@toolhive/operator/accepted-tokens';
import { urlOf } from '@toolhive/operator/names';
import { Reflector } from '@toolhive/operator/reflector';
import type { RemoteProxySpec, ServerSpec } from '@toolhive/operator/specs';

export interface ClusterMembersOptions {
  client: KubernetesClient;
  namespace: string;
  /** The groups whose servers are members. `*` selects all. */
  groups: readonly string[];
  /** The tokens that the proxy in front of the meta server verifies. Absent without authentication. */
  verified: ReturnType<typeof requestedOidc>;
  onError: (error: unknown) => void;
}

const apiVersion = 'toolhive.stacklok.dev/v1alpha1';
const kinds = [
  { apiVersion, kind: 'MCPServer', plural: 'mcpservers' },
  { apiVersion, kind: 'MCPRemoteProxy', plural: 'mcpremoteproxies' },
] as const satisfies readonly ResourceType[];

/** An MCPServer or MCPRemoteProxy, as the API server has checked the object. */
interface ServerObject extends KubernetesObject {
  kind: (typeof kinds)[number]['kind'];
  spec: Pick<ServerSpec, 'port' | 'groupRef' | 'oidcConfig'> & Partial<RemoteProxySpec>;
  status?: { conditions?: { type: string; status: string }[] };
}

/**
 * The ready MCPServers and MCPRemoteProxies of a namespace, as the API server reports them. The URL of a proxy derives
 * from the name, the namespace, and the port of the object. A URL in its status is not used, because accounts that write
 * the status could send calls elsewhere.
 */
export class ClusterMembers implements Members, Disposable {
  readonly #options: ClusterMembersOptions;
  readonly #over = new AbortController();
  readonly #changed = new EventEmitter();
  readonly #reflectors: Reflector[];
  readonly #proxies = new Map<string, Member['proxy'] & { url: string; access: string }>();

  constructor(options: ClusterMembersOptions) {
    this.#options = options;
    const { client, namespace, onError } = options;
    this.#reflectors = kinds.map(
      (type) =>
        new Reflector({
          client,
          type,
          namespaces: [namespace],
          onChange: ({ metadata: { name } }) => this.#changed.emit('change', name),
          onError,
        }),
    );
    for (const reflector of this.#reflectors) reflector.run(this.#over.signal).catch(onError);
  }

  /** Resolves when all servers are known. Rejects when the signal aborts. */
  async listed(signal: AbortSignal): Promise<void> {
    const aborted = once(signal, 'abort', { signal: this.#over.signal }).then(() => signal.throwIfAborted());
    await Promise.race([Promise.all(this.#reflectors.map(({ filled }) => filled)), aborted]);
  }

  current(): readonly Member[] {
    const members = new Map<string, Member>();
    for (const server of this.#reflectors.flatMap((reflector) => reflector.all<ServerObject>())) {
      const member = this.#memberOf(server);
      if (member !== undefined && !members.has(member.name)) members.set(member.name, member);
    }
    for (const name of this.#proxies.keys()) if (!members.has(name)) this.#proxies.delete(name);
    return [...members.values()];
  }

  names(): readonly string[] {
    const { groups } = this.#options;
    const servers = this.#reflectors.flatMap((reflector) => reflector.all<ServerObject>());
    const names = servers
      .filter(({ spec }) => groups.includes('*') || groups.includes(spec.groupRef ?? defaultGroup))
      .map(({ metadata }) => metadata.name);
    return [...new Set(names)].toSorted();
  }

  async *changes(signal: AbortSignal): AsyncGenerator<MemberChange> {
    try {
      // A new status can also mean a new proxy, whose tools differ.
      for await (const [name] of on(this.#changed, 'change', { signal }) as AsyncIterable<[string]>)
        yield { kind: 'tools', name };
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }

  [Symbol.dispose](): void {
    this.#over.abort();
  }

  #memberOf({ kind, metadata, spec, status }: ServerObject): Member | undefined {
    const { namespace, groups } = this.#options;
    const { name } = metadata;
    const group = spec.groupRef ?? defaultGroup;
    const isReady = status?.conditions?.some((each) => each.type === 'Ready' && each.status === 'True');
    const isMember = groups.includes('*') || groups.includes(group);
    if (isReady !== true || metadata.deletionTimestamp !== undefined || !isMember) return undefined;
    const url = `${urlOf(kind, name, namespace, spec.port)}/mcp`;
    const refusal = this.#refusalOf(spec, url);
    return {
      name,
      group,
      proxy: this.#proxyOf(name, url, JSON.stringify(spec.oidcConfig ?? null)),
      isAuthenticated: spec.oidcConfig !== undefined,
      ...(refusal === undefined ? {} : { refusal }),
    };
  }

  /** Returns the same object until the URL or the access rules change. */
  #proxyOf(name: string, url: string, access: string): Member['proxy'] {
    const known = this.#proxies.get(name);
    if (known?.url === url && known.access === access) return known;
    const proxy = { url, access };
    this.#proxies.set(name, proxy);
    return proxy;
  }

  /**
   * A token of a caller goes only to servers that accept exactly the tokens that the meta server has verified. Other
   * servers would refuse the token, and learn it (MCP 2025-11-25, Security Best Practices, Token Passthrough).
   */
  #refusalOf({ oidcConfig }: ServerObject['spec'], url: string): string | undefined {
    const { verified } = this.#options;
    if (oidcConfig === undefined) return undefined;
    if (verified === undefined)
      return 'the server requires a token, but the meta server does not authenticate its callers';
    const accepted = acceptedTokens(oidcConfig);
    if (accepted === undefined)
      return 'the meta server cannot compare its authentication with oidcConfig.configMap of the server';
    const { issuer, audience = oidcConfig.resourceUrl ?? new URL(url).origin } = accepted;
    if (issuer === verified.issuer && audience === (verified.audience ?? verified.resource_url))
      return undefined;
    return `the server requires a token of ${issuer} for ${audience}, which the meta server does not accept from its callers`;
  }
}
