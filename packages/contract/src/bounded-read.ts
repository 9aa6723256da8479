/** Passes on the chunks of a stream. Throws the error of `tooLarge` as soon as they contain more than `maxBytes`. */
export async function* bounded<Chunk extends Uint8Array>(
  source: AsyncIterable<Chunk>,
  maxBytes: number,
  tooLarge: () => Error,
): AsyncGenerator<Chunk, void, void> {
  let bytes = 0;
  for await (const chunk of source) {
    bytes += chunk.length;
    if (bytes > maxBytes) throw tooLarge();
    yield chunk;
  }
}

/** Reads a whole stream. Throws the error of `tooLarge`, and reads no further, if it contains more than `maxBytes`. */
export async function readBounded(
  source: AsyncIterable<Uint8Array>,
  maxBytes: number,
  tooLarge: () => Error,
): Promise<Uint8Array<ArrayBuffer>> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of bounded(source, maxBytes, tooLarge)) chunks.push(chunk);
  const all = new Uint8Array(chunks.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const chunk of chunks) {
    all.set(chunk, at);
    at += chunk.length;
  }
  return all;
}
