import { setImmediate as turn } from 'node:timers/promises';
import { inflateSync } from 'node:zlib';

/** Limits for the objects of a pack, for one of them alone, and for all together. */
export interface PackLimits {
  objects: number;
  objectBytes: number;
  totalBytes: number;
}

const HEADER_BYTES = 12;
const CHECKSUM_BYTES = 20;
/** How long the check may keep the event loop busy, because the operator must renew its lease meanwhile. */
const BUSY_MS = 20;
const OFFSET_DELTA = 6;
const REFERENCE_DELTA = 7;

/**
 * Checks the unpacked sizes of all objects in a Git pack. A few packed bytes can become very many, and a reader believes
 * the sizes that the pack states. Throws for objects that are larger than allowed or larger than stated.
 */
export async function checkPack(
  pack: Buffer,
  { objects, objectBytes, totalBytes }: PackLimits,
): Promise<void> {
  const tooLarge = (): Error => new Error(`the repository is larger than ${totalBytes} bytes`);
  const end = pack.length - CHECKSUM_BYTES;
  let left = totalBytes;
  const take = (size: number): void => {
    if (size > objectBytes) throw new Error(`a file of the repository is larger than ${objectBytes} bytes`);
    left -= size;
    if (left < 0) throw tooLarge();
  };
  let at = HEADER_BYTES;
  const stated = pack.length < HEADER_BYTES ? 0 : pack.readUInt32BE(8);
  if (stated > objects) {
    throw new Error(
      `the repository has more than ${objects} objects. Use a smaller repository for the registry`,
    );
  }
  let busySince = performance.now();
  for (let count = stated; count > 0; count -= 1) {
    if (performance.now() - busySince > BUSY_MS) {
      await turn();
      busySince = performance.now();
    }
    if (at >= end) throw new Error('the pack of the repository is incomplete');
    const header = variableSize(pack, at, 4);
    const type = ((pack[at] ?? 0) >> 4) & 0b111;
    take(header.size);
    at = header.next;
    if (type === REFERENCE_DELTA) at += CHECKSUM_BYTES;
    if (type === OFFSET_DELTA) {
      while (((pack[at] ?? 0) & 0x80) !== 0) at += 1;
      at += 1;
    }
    const { buffer, engine } = inflateSync(pack.subarray(at, end), {
      info: true,
      maxOutputLength: Math.max(header.size, 1),
    }) as unknown as { buffer: Buffer; engine: { bytesWritten: number } }; // the types do not know `info`
    at += engine.bytesWritten;
    // A delta begins with the size of its base and the size of its result.
    if (type === OFFSET_DELTA || type === REFERENCE_DELTA) {
      take(variableSize(buffer, variableSize(buffer, 0, 7).next, 7).size);
    }
  }
}

/** Reads a size whose first byte has so many bits of the size, and each other byte seven. */
function variableSize(bytes: Buffer, at: number, firstBits: number): { size: number; next: number } {
  const first = bytes[at] ?? 0;
  let size = first & (2 ** firstBits - 1);
  let factor = 2 ** firstBits;
  let next = at + 1;
  for (let byte = first; (byte & 0x80) !== 0; next += 1) {
    byte = bytes[next] ?? 0;
    size += (byte & 0x7f) * factor;
    factor *= 128;
  }
  return { size, next };
}
