import { inflateSync } from 'node:zlib';

/** How much the objects of a pack may have together, and one of them alone. */
export interface PackLimits {
  objectBytes: number;
  totalBytes: number;
}

const HEADER_BYTES = 12;
const CHECKSUM_BYTES = 20;
const OFFSET_DELTA = 6;
const REFERENCE_DELTA = 7;

/**
 * Checks the unpacked sizes of all objects in a Git pack. A few packed bytes can become very many, and a reader believes
 * the sizes that the pack states. Throws for objects that are larger than allowed or larger than stated.
 */
export function checkPack(pack: Buffer, { objectBytes, totalBytes }: PackLimits): void {
  const tooLarge = (): Error => new Error(`the repository is larger than ${totalBytes} bytes`);
  const end = pack.length - CHECKSUM_BYTES;
  let left = totalBytes;
  const take = (size: number): void => {
    if (size > objectBytes) throw new Error(`a file of the repository is larger than ${objectBytes} bytes`);
    left -= size;
    if (left < 0) throw tooLarge();
  };
  let at = HEADER_BYTES;
  for (let count = pack.readUInt32BE(8); count > 0; count -= 1) {
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
