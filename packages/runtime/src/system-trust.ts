import { getCACertificates, setDefaultCACertificates } from 'node:tls';

let isDone = false;

/**
 * Trusts the certificate authorities of this system besides those of Node.js, for all connections of this process: proxies
 * that inspect TLS traffic, and hosts inside companies, have certificates that only the system knows. Happens before the
 * first connection and not at the start, because reading all of them takes about 100 ms.
 */
export function trustSystem(): void {
  if (isDone) return;
  isDone = true;
  const all = new Set([...getCACertificates('default'), ...getCACertificates('system')]);
  setDefaultCACertificates([...all]);
}

/** All trusted certificate authorities, and others, as PEM. */
export function trustedCertificates(...others: readonly string[]): string[] {
  trustSystem();
  return [...getCACertificates('default'), ...others];
}
