import type { Transform } from 'node:stream';
import {
  constants,
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createZstdDecompress,
} from 'node:zlib';
import { escaped } from '@toolhive/contract/printable';
import type { ByteBudget } from '../input/byte-budget.ts';
import type { AnswerHeaders } from './answer.ts';

interface Coding {
  open: () => Transform;
  /** The memory of a decoder, apart from its output. */
  windowBytes: number;
}

const kibibyte = 1024;
const deflateBytes = 64 * kibibyte;
/** The logarithm of the largest window. A server names the size, so this is a limit. */
const maxWindowLog = 22;
const windowBytes = 2 ** maxWindowLog;

const openZstd = (): Transform =>
  createZstdDecompress({ params: { [constants.ZSTD_d_windowLogMax]: maxWindowLog } });

/** The content codings of HTTP (RFC 9110, section 8.4.1). Servers and their proxies also compress unasked. */
const codings: ReadonlyMap<string, Coding> = new Map([
  ['gzip', { open: createGunzip, windowBytes: deflateBytes }],
  ['x-gzip', { open: createGunzip, windowBytes: deflateBytes }],
  ['deflate', { open: createInflate, windowBytes: deflateBytes }],
  ['br', { open: createBrotliDecompress, windowBytes }],
  ['zstd', { open: openZstd, windowBytes }],
]);

/**
 * Returns a decoder for a compressed response. Undefined if the response is not compressed. Throws if it cannot be decoded,
 * also because the budget has no room for another decoder.
 */
export function decoderFor(headers: AnswerHeaders, budget: ByteBudget): Transform | undefined {
  const named = headers['content-encoding'];
  const name = String(named ?? '')
    .trim()
    .toLowerCase();
  // Servers also write the character encoding here.
  if (/^(?:|identity|none|utf-?8)$/.test(name)) return undefined;
  const coding = codings.get(name);
  if (coding === undefined)
    throw new Error(`the server uses the unknown compression ${escaped(name.slice(0, 40))}`);
  const hold = budget.hold();
  if (!hold.grow(coding.windowBytes)) throw new Error('too many compressed responses of the server are open');
  return coding.open().once('close', () => hold.release());
}

/** The headers of the decoded response. */
export function decodedHeaders(headers: AnswerHeaders): AnswerHeaders {
  return { ...headers, 'content-encoding': undefined, 'content-length': undefined };
}
