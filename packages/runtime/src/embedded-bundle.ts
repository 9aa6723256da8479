import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import type * as Esbuild from 'esbuild';

/**
 * The programs that run outside the daemon: in a container, in a sandbox, or in another network. Each one is a file in
 * `embedded/` and runs with nothing but its interpreter, so that the daemon can pass its text as an argument.
 */
export const embeddedProgramFiles = [
  'bundle-bridge.ts',
  'connect-namespaces.sh',
  'installer-tunnel.ts',
  'open-sockets.ts',
  'port-forwarder.ts',
  'read-secrets.sh',
  'relay.sh',
  'relay.ts',
  'sandbox-forwarder.ts',
] as const;

export type EmbeddedProgram = (typeof embeddedProgramFiles)[number];

const folder = join(import.meta.dirname, 'embedded');

/**
 * Returns the text of an embedded program, and the files that it consists of. TypeScript becomes plain JavaScript with
 * everything that it imports. The bundler is loaded only here, because the product itself contains the texts.
 */
export function bundleProgram(file: EmbeddedProgram): { text: string; inputs: string[] } {
  const path = join(folder, file);
  if (!file.endsWith('.ts')) return { text: readFileSync(path, 'utf8'), inputs: [path] };
  const { buildSync } = createRequire(import.meta.url)('esbuild') as typeof Esbuild;
  const { outputFiles, metafile } = buildSync({
    entryPoints: [path],
    absWorkingDir: folder,
    bundle: true,
    write: false,
    metafile: true,
    format: 'cjs', // works as a file and as an argument of `node -e`
    platform: 'node',
    target: 'node18', // images and machines have older versions than the daemon
    minifyWhitespace: true,
    charset: 'utf8',
    legalComments: 'none',
    logLevel: 'warning',
    tsconfigRaw: { compilerOptions: { alwaysStrict: true } },
  });
  return {
    text: outputFiles.map(({ text }) => text).join(''),
    inputs: Object.keys(metafile.inputs).map((input) => join(folder, input)),
  };
}
