import { rootCertificates } from 'node:tls';
import { readIfThere } from './read-if-there.ts';

/** The usual locations of the system's trusted certificate authorities. The first existing file counts. */
const systemBundles = [
  '/etc/ssl/certs/ca-certificates.crt', // Debian, Alpine, Arch
  '/etc/pki/tls/certs/ca-bundle.crt', // Fedora
  '/etc/ssl/ca-bundle.pem', // openSUSE
  '/etc/ssl/cert.pem', // macOS, BSD
];

/** The environment variables that configure the tools' certificate authorities. */
const variables = [
  'NODE_EXTRA_CA_CERTS',
  'SSL_CERT_FILE',
  'GIT_SSL_CAINFO',
  'CURL_CA_BUNDLE',
  'REQUESTS_CA_BUNDLE',
  'npm_config_cafile',
];

/**
 * All certificate authorities for the tools, as PEM: the given ones, the ones in environment variables, and the
 * system's, which uv and npm do not read themselves. Undefined if there are only those of Node.js.
 */
export async function certificateBundle(
  env: NodeJS.ProcessEnv,
  certificates: string | undefined,
  bundles: readonly string[] = systemBundles,
): Promise<string | undefined> {
  const named = namedFiles(env);
  const others = [certificates ?? '', ...(await Promise.all([...named].map(readIfThere)))];
  const system = await systemCertificates(bundles);
  if (system === '' && others.every((text) => text === '')) return undefined;
  return [...others, system === '' ? rootCertificates.join('\n') : system].join('\n');
}

async function systemCertificates(bundles: readonly string[]): Promise<string> {
  for (const path of bundles) {
    const text = await readIfThere(path);
    if (text !== '') return text;
  }
  return '';
}

function namedFiles(env: NodeJS.ProcessEnv): Set<string> {
  return new Set(variables.flatMap((name) => env[name] || []));
}

/** The files in environment variables that are not the list of the system. */
export function filesBesideSystem(env: NodeJS.ProcessEnv, bundles = systemBundles): string[] {
  return [...namedFiles(env)].filter((path) => !bundles.includes(path));
}
