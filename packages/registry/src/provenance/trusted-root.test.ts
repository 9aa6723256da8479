import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { expect, test } from 'vitest';
import { openTrustedRoot } from './trusted-root.ts';

test('without a network, the trusted root that comes with ToolHive is used', async () => {
  const cacheDir = await mkdtemp(join(tmpdir(), 'trusted-root-'));
  try {
    const readRoot = openTrustedRoot({ cacheDir, log: pino({ level: 'silent' }), timeoutMs: 1 });

    const { certificateAuthorities, tlogs } = await readRoot();

    expect(certificateAuthorities.map(({ uri }) => uri)).toContain('https://fulcio.sigstore.dev');
    expect(tlogs.map(({ baseUrl }) => baseUrl)).toContain('https://rekor.sigstore.dev');
  } finally {
    await rm(cacheDir, { recursive: true });
  }
});
