/** The kinds of custom resources that have a proxy. */
export type ProxiedKind = 'MCPServer' | 'MCPRemoteProxy';

/** The value of `app.kubernetes.io/managed-by`, by which the operator finds its objects. */
export const MANAGER = 'toolhive-operator';

/** The port of the egress gateway in the proxy pod. */
export const EGRESS_PORT = 3128;

/** The port on which proxy pods relay requests to each other, which differs from the port for clients. */
export function peerPortOf({ port }: { port: number }): number {
  return port === 3129 ? 3130 : 3129;
}

/** The names of all objects of one custom resource. */
export function namesOf(kind: ProxiedKind, name: string) {
  const isRemote = kind === 'MCPRemoteProxy';
  return {
    /** Deployment and StatefulSet. */
    workload: name,
    proxyService: isRemote ? `mcp-${name}-remote-proxy` : `mcp-${name}-proxy`,
    headlessService: `mcp-${name}-headless`,
    egressService: `mcp-${name}-egress`,
    proxyAccount: isRemote ? `${name}-remote-proxy-runner` : `${name}-proxy-runner`,
    serverAccount: `${name}-sa`,
    runConfig: `${name}-runconfig`,
    authorization: `${name}-authz-inline`,
    toolPins: `${name}-tool-pins`,
    /** The ConfigMap with the server's lists, which the proxies write. */
    listedTools: `${name}-listed-tools`,
    /** The Secret with the keys for session IDs. */
    sessionKeys: isRemote ? `mcp-${name}-remote-session-keys` : `mcp-${name}-session-keys`,
    // Both have an ending, so that the policies of servers named x and x-proxy differ.
    serverPolicy: `${name}-server`,
    proxyPolicy: `${name}-proxy`,
    /** The server policy's name in version 0.1.0. */
    formerServerPolicy: name,
  };
}

/** The URL of a proxy in the cluster. */
export function urlOf(kind: ProxiedKind, name: string, namespace: string, port: number): string {
  return `http://${namesOf(kind, name).proxyService}.${namespace}.svc.cluster.local:${port}`;
}

/** The labels of all proxy objects, which are also the selector of the proxy pods. */
export function proxyLabels(kind: ProxiedKind, name: string): Record<string, string> {
  const app = kind.toLowerCase();
  return {
    app,
    'app.kubernetes.io/name': app,
    'app.kubernetes.io/instance': name,
    toolhive: 'true',
    'toolhive-name': name,
  };
}

/** The labels of server pods, which are also their selector. They differ from those of proxy pods. */
export function serverLabels(name: string): Record<string, string> {
  return {
    app: 'mcpserver-backend',
    'app.kubernetes.io/name': 'mcpserver-backend',
    'app.kubernetes.io/instance': name,
    'toolhive-backend': name,
  };
}

/** The label that all objects of the operator have. */
export const managed = { 'app.kubernetes.io/managed-by': MANAGER };
