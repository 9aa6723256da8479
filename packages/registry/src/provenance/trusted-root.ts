import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { messageOf } from '@toolhive/contract/failure';
import type { TrustedRoot } from '@sigstore/protobuf-specs';
import type { Logger } from 'pino';

/** Returns the certificate authorities and transparency logs that signatures are verified with. */
export type ReadTrustedRoot = () => Promise<TrustedRoot>;

const MIRROR = 'https://tuf-repo-cdn.sigstore.dev';
const TIMEOUT_MS = 5_000;
const FRESH_MS = 24 * 60 * 60_000;
const RETRY_MS = 10 * 60_000;

/**
 * The trusted root of public Sigstore. It is refreshed once a day with TUF, whose signatures protect it from the
 * server that delivers it. Without a network, the newest local copy is used, or else the one that comes with
 * ToolHive.
 */
export function openTrustedRoot({
  cacheDir,
  log,
  timeoutMs = TIMEOUT_MS,
}: {
  cacheDir: string;
  log: Logger;
  timeoutMs?: number;
}): ReadTrustedRoot {
  let current: { root: Promise<TrustedRoot>; until: number } | undefined;

  async function read(): Promise<TrustedRoot> {
    await mkdir(cacheDir, { recursive: true, mode: 0o700 });
    const { TrustedRoot, getTrustedRoot } = await import('./sigstore-root.ts');
    try {
      const options = { mirrorURL: MIRROR, cachePath: cacheDir, timeout: timeoutMs, retry: 0 };
      return await getTrustedRoot(options);
    } catch (error) {
      log.info({ why: messageOf(error) }, 'the trusted root of Sigstore was not refreshed');
      if (current !== undefined) current.until = performance.now() + RETRY_MS;
      // TUF stores only verified files, beginning with the root that comes with the library.
      const stored = join(cacheDir, encodeURIComponent(new URL(MIRROR).host), 'targets', 'trusted_root.json');
      return TrustedRoot.fromJSON(JSON.parse(await readFile(stored, 'utf8')));
    }
  }

  return () => {
    if (current === undefined || performance.now() > current.until) {
      const root = read();
      current = { root, until: performance.now() + FRESH_MS };
      root.catch(() => (current = undefined));
    }
    return current.root;
  };
}
