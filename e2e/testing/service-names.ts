// Loaded into a process with --import: resolves Service names of a cluster to this machine, where tests run the pods.
import dns from 'node:dns';

const { lookup } = dns;
dns.lookup = ((host: string, ...rest: [never, never]) =>
  lookup(host.endsWith('.svc.cluster.local') ? '127.0.0.1' : host, ...rest)) as typeof lookup;
