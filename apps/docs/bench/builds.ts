import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempDisposable, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { compressSite } from '../../../scripts/compress.ts';
import { seconds, type Section } from '../../../bench/tables.ts';

const docs = new URL('..', import.meta.url).pathname;
/** A separate directory, so that other builds are not affected. */
const generated = '.docusaurus-bench';

/** How long the site takes to be built: from nothing, again, and to be compressed after that. */
export async function builds(note: (text: string) => void): Promise<Section> {
  await using folder = await mkdtempDisposable(`${tmpdir()}/site-bench-`);
  const build = (env: NodeJS.ProcessEnv): Promise<number> =>
    timed(async () => {
      note(`building the site (${Object.keys(env).join(', ') || 'with what was built before'})`);
      const child = spawn('docusaurus', ['build', docs, '--out-dir', folder.path], {
        env: {
          ...process.env,
          ...env,
          DOCUSAURUS_GENERATED_FILES_DIR_NAME: generated,
          NO_UPDATE_NOTIFIER: '1',
        },
        stdio: ['ignore', 'ignore', 'inherit'],
      });
      const [code] = (await once(child, 'exit')) as [number | null];
      if (code !== 0) throw new Error(`docusaurus ended with ${code}`);
    });
  try {
    await rm(docs + generated, { recursive: true, force: true });
    const coldMs = await build({ DOCUSAURUS_NO_PERSISTENT_CACHE: 'true' });
    const quickMs = await timed(() => compressSite(folder.path, 'quick'));
    const smallMs = await timed(() => compressSite(folder.path, 'small'));
    await build({}); // leaves what the next one begins with
    const warmMs = await build({});
    return {
      title: 'Builds',
      head: ['What', 'Time'],
      rows: [
        ['from nothing', seconds(coldMs)],
        ['again, with what the bundler remembers', seconds(warmMs)],
        ['to compress it for every host', seconds(smallMs)],
        ['to compress it for this machine alone, as `npm start` does', seconds(quickMs)],
      ],
    };
  } finally {
    await rm(docs + generated, { recursive: true, force: true });
  }
}

async function timed(work: () => Promise<void>): Promise<number> {
  const startedMs = performance.now();
  await work();
  return performance.now() - startedMs;
}
