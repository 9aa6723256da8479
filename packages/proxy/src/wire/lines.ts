import type { Readable } from 'node:stream';

/** The longest line that a server may write; longer ones are skipped, in constant memory. */
const maxLineBytes = 64 * 1024 * 1024;

const lineFeed = 0x0a;

/**
 * Calls `onLine` for every line of a server's standard output, without its line break. A line beyond
 * `limitBytes` is dropped and reported by `onTooLong`.
 */
export function readLines(
  output: Readable,
  { onLine, onTooLong, limitBytes = maxLineBytes }: LineOptions,
): void {
  let parts: Buffer[] = [];
  let bytes = 0;
  let skipping = false;
  let start = '';

  output.on('data', (chunk: Buffer) => {
    let from = 0;
    for (let end = chunk.indexOf(lineFeed); end !== -1; end = chunk.indexOf(lineFeed, from)) {
      finish(chunk.subarray(from, end));
      from = end + 1;
    }
    if (from < chunk.length) keep(from === 0 ? chunk : chunk.subarray(from));
  });

  function finish(last: Buffer): void {
    if (skipping || bytes + last.length > limitBytes) {
      onTooLong(skipping ? start : startOf(parts[0] ?? last));
      skipping = false;
    } else {
      const line = parts.length === 0 ? last : Buffer.concat([...parts, last]);
      if (line.length > 0) onLine(line.toString('utf8'));
    }
    parts = [];
    bytes = 0;
  }

  function keep(part: Buffer): void {
    bytes += part.length;
    if (bytes > limitBytes && !skipping) {
      skipping = true;
      start = startOf(parts[0] ?? part);
      parts = [];
    }
    if (!skipping) parts.push(part);
  }
}

function startOf(part: Buffer): string {
  return part.toString('utf8', 0, 200);
}

interface LineOptions {
  onLine: (line: string) => void;
  /** Told how it begins. */
  onTooLong: (start: string) => void;
  limitBytes?: number;
}
