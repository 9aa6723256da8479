import { rootCertificates } from 'node:tls';
import { readIfThere } from './tool.ts';

/** Where systems keep the certificate authorities that they trust, the first that is there counts. */
const systemBundles = [
  '/etc/ssl/certs/ca-certificates.crt', // Debian, Alpine, Arch
  '/etc/pki/tls/certs/ca-bundle.crt', // Fedora
  '/etc/ssl/ca-bundle.pem', // openSUSE
  '/etc/ssl/cert.pem', // macOS, BSD
];

/** How tools are told whom to trust. */
const variables = [
  'NODE_EXTRA_CA_CERTS',
  'SSL_CERT_FILE',
  'GIT_SSL_CAINFO',
  'CURL_CA_BUNDLE',
  'REQUESTS_CA_BUNDLE',
  'npm_config_cafile',
];

/**
 * All certificate authorities that tools are to trust, as PEM: these, those that the environment names, and the
 * system's. Undefined if there are no others than the system's.
 */
export async function certificateBundle(
  env: NodeJS.ProcessEnv,
  certificates: string | undefined,
): Promise<string | undefined> {
  const named = new Set(variables.flatMap((name) => env[name] || []));
  const others = [certificates ?? '', ...(await Promise.all([...named].map(readIfThere)))];
  if (others.every((text) => text === '')) return undefined;
  return [...others, await systemCertificates()].join('\n');
}

async function systemCertificates(): Promise<string> {
  for (const path of systemBundles) {
    const text = await readIfThere(path);
    if (text !== '') return text;
  }
  return rootCertificates.join('\n');
}
