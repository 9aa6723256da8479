import { renameSync } from 'node:fs';
import { mkdtempDisposable, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { buildContext } from './context.ts';

test('a file that is replaced by a link while its folder is read is not followed', async () => {
  await using outside = await mkdtempDisposable(join(tmpdir(), 'thv-outside-'));
  await using folder = await mkdtempDisposable(join(tmpdir(), 'thv-context-'));
  const secret = join(outside.path, 'secret');
  const link = join(outside.path, 'link');
  await writeFile(secret, 'of the user');
  await symlink(secret, link);
  // The second one is read only when somebody has taken the first one.
  const files = ['first', 'second'];
  for (const file of files) await writeFile(join(folder.path, file), Buffer.alloc(4 * 1024 * 1024, file));
  const archive = await buildContext('FROM scratch', { local: { path: folder.path, name: '' } });
  let replaced: string | undefined;
  let content = '';
  const read = async () => {
    for await (const chunk of archive as AsyncIterable<Buffer>) {
      content += chunk.toString('latin1');
      const begun = files.find((file) => content.includes(`${file}\0`));
      if (begun === undefined || replaced !== undefined) continue;
      replaced = join(folder.path, files.find((file) => file !== begun) ?? '');
      renameSync(link, replaced);
    }
  };

  await expect(read()).rejects.toThrow('is a symbolic link that leads out of');

  expect(content).not.toContain('of the user');
});
