import { resolve } from 'node:path';
import { invalid } from '@toolhive/contract/failure';
import type { CommandCall } from '../../command.ts';
import { asMcpJson } from './mcp-json.ts';
import { writeOwnFile } from './own-file.ts';

const usage = { hint: 'run thv export --help' };

/** Exports a workload: as a run config, for Kubernetes, or as a bundle that connects to it. */
export async function run(call: CommandCall): Promise<void> {
  const { arguments: words, flags, out, client, signal } = call;
  if (flags.text('format') === 'project') return exportProject(call);
  const [name, path, unexpected] = words;
  if (name === undefined) throw invalid('NAME is missing', usage);
  if (path === undefined) throw invalid('PATH is missing', usage);
  if (unexpected !== undefined) throw invalid(`unexpected argument ${unexpected}`, usage);
  if (flags.isGiven('group')) throw invalid('--group requires --format project');
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

/** Prints a project file, so that a shell puts it where the user wants. */
async function exportProject({ arguments: words, flags, out, client, signal }: CommandCall): Promise<void> {
  const daemon = await client();
  const group = flags.text('group');
  const { document, notes } = await daemon.exportProject(
    {
      body: {
        ...(words.length === 0 ? {} : { names: [...words] }),
        ...(group === undefined ? {} : { group }),
        directory: process.cwd(),
      },
    },
    { signal },
  );
  out.result({ document }, (page) => page.verbatim(document.trimEnd()));
  for (const note of notes) out.note(`note: ${note}`);
}
