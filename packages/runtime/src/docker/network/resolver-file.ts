import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { resolverSettings } from '../../egress/link-addresses.ts';
import { NAME_SERVER } from '../../egress/user-network.ts';
import type { SocketPlace } from '../../published-socket.ts';

/** Writes the file that tells the programs in a network where names are resolved, and returns its path. */
export async function resolverFile({ tempDir }: SocketPlace, kind: 'gateway' | 'public'): Promise<string> {
  const path = join(tempDir, kind === 'gateway' ? 'resolv.conf' : 'resolv-public.conf');
  await mkdir(tempDir, { recursive: true, mode: 0o700 });
  const text = kind === 'gateway' ? resolverSettings.text : `nameserver ${NAME_SERVER}\n`;
  await writeFile(path, text, { mode: 0o644 });
  return path;
}
