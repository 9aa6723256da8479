import { X509Certificate } from 'node:crypto';
import { glob } from 'node:fs/promises';
import { join } from 'node:path';
import { rootCertificates } from 'node:tls';
import { isLoopback } from '@toolhive/contract/loopback';
import { nameOfProxy, proxyVariables } from '../corporate-proxy.ts';
import { readIfThere } from '../read-if-there.ts';
import { filesBesideSystem } from '../trust.ts';

/** How a build uses corporate proxies. */
export interface BuildProxies {
  args: Record<string, string>;
  /** Notes for the user about proxies that the build cannot use as they are. */
  notes: string[];
}

/**
 * The proxy variables as build arguments. An engine knows these arguments without a declaration, and
 * records them neither in the image nor in its history (Docker documentation, Predefined build arguments). They have no
 * passwords, because packages run code of their authors in a build.
 */
export function proxyArguments(env: NodeJS.ProcessEnv): BuildProxies {
  const args: Record<string, string> = {};
  const notes = new Set<string>();
  for (const [name, value] of Object.entries(proxyVariables(env))) {
    const url = /^no_proxy$/i.test(name)
      ? null
      : URL.parse(value.includes('://') ? value : `http://${value}`);
    if (url === null) args[name] = value;
    else if (isLoopback(url.hostname))
      notes.add(`building without the proxy ${nameOfProxy(url.href)}, because no container can reach it`);
    else {
      const hasPassword = url.username !== '' || url.password !== '';
      if (hasPassword)
        notes.add(
          `building without the password of the proxy ${nameOfProxy(url.href)}, which packages could read`,
        );
      args[name] = hasPassword ? nameOfProxy(url.href) : value;
    }
  }
  return { args, notes: [...notes] };
}

/** The directories for further certificate authorities on Debian and Alpine, Fedora, and Arch. */
const anchorFolders = [
  '/usr/local/share/ca-certificates',
  '/etc/pki/ca-trust/source/anchors',
  '/etc/ca-certificates/trust-source/anchors',
];
const maxAnchors = 100;

/**
 * The certificate authorities that a build needs besides those in every base image, as PEM: the given ones, and those that
 * an administrator has added, such as the one of a proxy that inspects TLS traffic. The other authorities of
 * the system are not needed, and some of an old system are no longer trusted elsewhere. Undefined if there are none.
 */
export async function buildAuthorities(
  env: NodeJS.ProcessEnv,
  given: string | undefined,
  { anchors = anchorFolders, bundles }: { anchors?: string[]; bundles?: string[] } = {},
): Promise<string | undefined> {
  const files = new Set([...filesBesideSystem(env, bundles), ...(await filesIn(anchors))]);
  const texts = await Promise.all([...files].map(readIfThere));
  const known = new Set(rootCertificates.map((one) => new X509Certificate(one).fingerprint256));
  const added = new Map<string, string>();
  for (const [pem] of texts
    .join('\n')
    .matchAll(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g)) {
    const fingerprint = fingerprintOf(pem);
    if (fingerprint !== undefined && !known.has(fingerprint)) added.set(fingerprint, `${pem}\n`);
  }
  if (given === undefined && added.size === 0) return undefined;
  return [given ?? '', ...added.values()].join('');
}

async function filesIn(folders: readonly string[]): Promise<string[]> {
  const found: string[] = [];
  for (const folder of folders)
    for await (const name of glob('**/*.{crt,pem,cer}', { cwd: folder }))
      if (found.length < maxAnchors) found.push(join(folder, name));
  return found.toSorted();
}

/** Undefined for other texts: these files can contain anything. */
function fingerprintOf(pem: string): string | undefined {
  try {
    return new X509Certificate(pem).fingerprint256;
  } catch {
    return undefined;
  }
}
