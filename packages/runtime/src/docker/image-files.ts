import { unavailable } from '@toolhive/contract/failure';
import { extract } from 'tar-stream';
import * as z from 'zod';
import { removeContainer } from './container.ts';
import { callEngine, isFailure, openStream, type Engine } from './engine.ts';

/** Larger than the list of any package's dependencies that is not an attack. */
const FILE_LIMIT = 16 * 1024 * 1024;

/**
 * Reads the regular files of a path in an image, without running it. The image's author controls the number and size of
 * files, so throws `unavailable` for too many bytes. Empty if nothing is at the path.
 */
export async function readImageFiles(
  engine: Engine,
  { image, path, limit = FILE_LIMIT }: { image: string; path: string; limit?: number },
  signal: AbortSignal,
): Promise<Map<string, string>> {
  // Never started, but engines require a command.
  const json = { Image: image, Cmd: ['none'], HostConfig: { NetworkMode: 'none' } };
  const create = { method: 'POST', path: '/containers/create', body: { json } } as const;
  const { Id } = await callEngine(engine, z.object({ Id: z.string() }), create);
  try {
    const call = { method: 'GET', path: `/containers/${Id}/archive`, query: { path }, signal } as const;
    const archive = await openStream(engine, call);
    const files = new Map<string, string>();
    let left = limit;
    for await (const entry of archive.pipe(extract())) {
      const chunks: Buffer[] = [];
      for await (const chunk of entry as AsyncIterable<Buffer>) {
        left -= chunk.length;
        if (left < 0) throw unavailable(`the files at ${path} in the image ${image} are too large`);
        chunks.push(chunk);
      }
      const name = entry.header.name.split('/').at(-1) ?? '';
      if (entry.header.type === 'file') files.set(name, Buffer.concat(chunks).toString());
    }
    return files;
  } catch (error) {
    if (isFailure(error, 'not-found')) return new Map();
    throw error;
  } finally {
    await removeContainer(engine, Id);
  }
}
