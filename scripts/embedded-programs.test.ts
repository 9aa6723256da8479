import { execFile } from 'node:child_process';
import { mkdtempDisposable, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { embeddedProgramFiles, bundleProgram } from '@toolhive/runtime/embedded-bundle';
import { build } from 'esbuild';
import { expect, test } from 'vitest';
import { bundling, root } from './build.ts';

test('a bundle contains the same texts of programs that the source makes, and not the bundler', async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'thv-embedded-'));
  const entry = join(folder.path, 'entry.ts');
  const module = join(root, 'packages/runtime/src/embedded-program.ts');
  const files = JSON.stringify(embeddedProgramFiles);
  await writeFile(
    entry,
    `import { embeddedProgram } from ${JSON.stringify(module)};
     console.log(JSON.stringify(${files}.map((file) => embeddedProgram(file))));`,
  );
  const outfile = join(folder.path, 'bundle.cjs');

  const { metafile } = await build({ ...bundling, entryPoints: [entry], outfile, format: 'cjs' });
  const { stdout } = await promisify(execFile)(process.execPath, [outfile], { env: {} });

  expect(JSON.parse(stdout)).toEqual(embeddedProgramFiles.map((file) => bundleProgram(file).text));
  expect(Object.keys(metafile.inputs).filter((path) => path.includes('embedded-bundle'))).toEqual([]);
});
