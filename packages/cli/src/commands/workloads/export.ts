import type { CommandCall } from '../../command.ts';
import { asMcpJson } from './mcp-json.ts';
import { writeOwnFile } from './own-file.ts';

/** Exports a workload: as a run config, or for Kubernetes. */
export async function run({
  arguments: [name = '', path = ''],
  flags,
  out,
  client,
  signal,
}: CommandCall): Promise<void> {
  const daemon = await client();
  const params = { name };
  if (flags.text('format') === 'k8s') {
    const { manifest, warnings } = await daemon.exportManifest({ params }, { signal });
    const written = await writeOwnFile(path, manifest);
    out.result({ file: written }, `wrote ${name} to ${written}`);
    for (const warning of warnings) out.note(`note: ${warning}`);
    return;
  }
  const runConfig = await daemon.exportWorkload({ params }, { signal });
  const isForClients = flags.text('format') === 'mcp-json';
  const exported = isForClients ? asMcpJson(runConfig) : { value: runConfig, notes: [] };
  const file = await writeOwnFile(path, `${JSON.stringify(exported.value, null, 2)}\n`);
  out.result({ file }, `wrote ${name} to ${file}`);
  for (const note of exported.notes) out.note(`note: ${note}`);
}
