import { readFile, writeFile } from 'node:fs/promises';
import { rootCertificates } from 'node:tls';

/** Where systems keep the certificate authorities that they trust, the first that is there counts. */
const systemBundles = [
  '/etc/ssl/certs/ca-certificates.crt', // Debian, Alpine, Arch
  '/etc/pki/tls/certs/ca-bundle.crt', // Fedora
  '/etc/ssl/ca-bundle.pem', // openSUSE
  '/etc/ssl/cert.pem', // macOS, BSD
];

/** How tools are told whom to trust. For all but the first it takes the place of what they trust by themselves. */
const variables = [
  'NODE_EXTRA_CA_CERTS',
  'SSL_CERT_FILE',
  'GIT_SSL_CAINFO',
  'CURL_CA_BUNDLE',
  'REQUESTS_CA_BUNDLE',
];

/** Set only where somebody has set it: npm would no longer trust what its own configuration names. */
const npmVariable = 'npm_config_cafile';

/**
 * The environment of tools that trust these certificates, too, beside all that they trusted before. Writes all of
 * them into one file, as the tools take only one.
 */
export async function environmentTrusting(
  env: NodeJS.ProcessEnv,
  certificates: string,
  file: string,
): Promise<NodeJS.ProcessEnv> {
  const named = new Set([...variables, npmVariable].flatMap((name) => env[name] || []));
  const before = await Promise.all([...named].map(readIfThere));
  await writeFile(file, [certificates, ...before, await systemCertificates()].join('\n'), { mode: 0o600 });
  const told = [...variables, ...(env[npmVariable] ? [npmVariable] : [])];
  return { ...env, ...Object.fromEntries(told.map((name) => [name, file])) };
}

async function systemCertificates(): Promise<string> {
  for (const path of systemBundles) {
    const text = await readIfThere(path);
    if (text !== '') return text;
  }
  return rootCertificates.join('\n');
}

/** A file that cannot be read has no certificates: the tool would have told so by itself. */
function readIfThere(path: string): Promise<string> {
  return readFile(path, 'utf8').catch(() => '');
}
