import { resolve } from 'node:path';
import type { CommandCall } from '../../command.ts';
import { asMcpJson } from './mcp-json.ts';
import { writeOwnFile } from './own-file.ts';

/** Exports a workload: as a run config, for Kubernetes, or as a bundle that connects to it. */
export async function run({
  arguments: [name = '', path = ''],
  flags,
  out,
  client,
  signal,
}: CommandCall): Promise<void> {
  const daemon = await client();
  const params = { name };
  if (flags.text('format') === 'mcpb') {
    const { files } = await daemon.exportBundle({ params }, { signal });
    const written = resolve(path);
    const { writeArchive } = await import('@toolhive/bundles/write-archive');
    await writeArchive(
      files.map((file) => ({ path: file.path, content: Buffer.from(file.text), isExecutable: false })),
      written,
    );
    out.result({ file: written }, `wrote ${name} to ${written}`);
    return;
  }
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
