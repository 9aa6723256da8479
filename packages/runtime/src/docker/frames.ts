/** Which of a container's streams a piece belongs to. */
export type OutputStream = 'stdout' | 'stderr';

const HEADER_BYTES = 8;

/**
 * Parses an attached container's stream: frames with an 8-byte header (stream number and content length) and content.
 * Emits the content as it arrives, so a frame with a huge length uses no memory. Throws for an invalid header.
 */
export function createDemultiplexer(
  onPiece: (stream: OutputStream, piece: Buffer) => void,
): (chunk: Buffer) => void {
  const header = Buffer.alloc(HEADER_BYTES);
  let headerBytes = 0;
  let remaining = 0;
  let stream: OutputStream = 'stdout';

  return (chunk) => {
    let at = 0;
    while (at < chunk.length) {
      if (remaining > 0) {
        const end = Math.min(chunk.length, at + remaining);
        onPiece(stream, chunk.subarray(at, end));
        remaining -= end - at;
        at = end;
        continue;
      }
      const copied = chunk.copy(header, headerBytes, at, at + HEADER_BYTES - headerBytes);
      at += copied;
      headerBytes += copied;
      if (headerBytes < HEADER_BYTES) return;
      headerBytes = 0;
      stream = streamOf(header);
      remaining = header.readUInt32BE(4);
    }
  };
}

function streamOf(header: Buffer): OutputStream {
  const number = header[0] ?? -1;
  // 0 is the echo of standard input, which old engines use for output. 3 is an error message from the engine.
  if (number > 3 || header.readUIntBE(1, 3) !== 0) throw new Error('the stream of the container is garbled');
  return number === 2 || number === 3 ? 'stderr' : 'stdout';
}
