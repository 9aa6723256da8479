/** Four buckets for each doubling, so that a value in the middle of one is at most 10 % wrong. */
const perDoubling = 4;
/** The upper end of the first bucket begins here, in milliseconds. The last bucket holds everything from about 2 minutes. */
const firstMs = 0.125;
export const buckets = 80;
/** In a text for the database: the bucket, and the count. */
const bytesPerBucket = 5;

/** How many durations fell into each bucket. */
export type Histogram = Uint32Array;

export function emptyHistogram(): Histogram {
  return new Uint32Array(buckets);
}

export function addDuration(histogram: Histogram, ms: number): void {
  const bucket = Math.floor(Math.log2(ms / firstMs) * perDoubling);
  const index = bucket >= 0 ? Math.min(bucket, buckets - 1) : 0; // also for what is no number
  histogram[index] = (histogram[index] ?? 0) + 1;
}

export function addAll(histogram: Histogram, more: Histogram): void {
  for (let index = 0; index < buckets; index += 1)
    histogram[index] = (histogram[index] ?? 0) + (more[index] ?? 0);
}

/** The duration that this share of all durations does not exceed. Undefined without durations. */
export function percentile(histogram: Histogram, share: number): number | undefined {
  const count = histogram.reduce((sum, one) => sum + one, 0);
  if (count === 0) return undefined;
  let left = Math.ceil(count * share);
  const index = histogram.findIndex((one) => (left -= one) <= 0);
  return Number((firstMs * 2 ** ((index + 0.5) / perDoubling)).toPrecision(3));
}

/** Only the buckets that are not empty. */
export function packed(histogram: Histogram): Uint8Array {
  const filled = [...histogram.entries()].filter(([, count]) => count > 0);
  const bytes = Buffer.alloc(filled.length * bytesPerBucket);
  for (const [at, [index, count]] of filled.entries()) {
    bytes.writeUInt8(index, at * bytesPerBucket);
    bytes.writeUInt32LE(count, at * bytesPerBucket + 1);
  }
  return bytes;
}

/** Adds what `packed` has returned. Ignores what it cannot have returned: another program can change the file. */
export function addPacked(histogram: Histogram, value: unknown): void {
  if (!(value instanceof Uint8Array)) return;
  const bytes = Buffer.from(value.buffer, value.byteOffset, value.byteLength);
  for (let at = 0; at + bytesPerBucket <= bytes.length; at += bytesPerBucket) {
    const index = bytes.readUInt8(at);
    if (index < buckets) histogram[index] = (histogram[index] ?? 0) + bytes.readUInt32LE(at + 1);
  }
}
