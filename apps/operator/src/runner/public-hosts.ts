/**
 * The names that clients use for the proxy: its Service from the same namespace, from another one, and in full, and the
 * comma-separated names in `TOOLHIVE_PUBLIC_HOSTS`, such as those of an Ingress. All other names are refused, because a
 * web page could have chosen them (DNS rebinding).
 */
export function publicHostsOf(workload: string, env: NodeJS.ProcessEnv): string[] {
  const { POD_NAMESPACE: namespace, TOOLHIVE_PUBLIC_HOSTS: more = '' } = env;
  const services = [`mcp-${workload}-proxy`, `mcp-${workload}-remote-proxy`];
  const suffixes = namespace
    ? ['', `.${namespace}`, `.${namespace}.svc`, `.${namespace}.svc.cluster.local`]
    : [''];
  const given = more.split(',').map((host) => host.trim());
  return [
    ...services.flatMap((service) => suffixes.map((suffix) => `${service}${suffix}`)),
    ...given.filter((host) => host !== ''),
  ];
}
