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
  const index = bucket >= 0 ? Math.min(bucket, buckets - 1) : 0; // also for NaN
  histogram[index] = (histogram[index] ?? 0) + 1;
}

/** The duration that this share of all durations does not exceed. Undefined without durations. */
export function percentile(histogram: Histogram, share: number): number | undefined {
  // Loops, because one answer has tens of thousands of histograms.
  let count = 0;
  for (const one of histogram) count += one;
  if (count === 0) return undefined;
  let [index, left] = [-1, Math.ceil(count * share)];
  while (left > 0) left -= histogram[++index] ?? left;
  return Number((firstMs * 2 ** ((index + 0.5) / perDoubling)).toPrecision(3));
}

/** Only the buckets that are not empty. */
export function packed(histogram: Histogram): Uint8Array {
  let filled = 0;
  for (const count of histogram) if (count > 0) filled += 1;
  const bytes = new Uint8Array(filled * bytesPerBucket);
  const view = new DataView(bytes.buffer);
  let at = 0;
  for (let index = 0; index < buckets; index += 1) {
    const count = histogram[index] ?? 0;
    if (count === 0) continue;
    view.setUint8(at, index);
    view.setUint32(at + 1, count, true);
    at += bytesPerBucket;
  }
  return bytes;
}

/** Adds a result of `packed`. Ignores every other value: another program can change the file. */
export function addPacked(histogram: Histogram, value: unknown): void {
  if (!(value instanceof Uint8Array)) return;
  const view = new DataView(value.buffer, value.byteOffset, value.byteLength);
  for (let at = 0; at + bytesPerBucket <= view.byteLength; at += bytesPerBucket) {
    const index = view.getUint8(at);
    if (index < buckets) histogram[index] = (histogram[index] ?? 0) + view.getUint32(at + 1, true);
  }
}
