import { hash } from 'node:crypto';
import { messageOf, unavailable } from '@toolhive/contract/failure';
import { isLoopback } from '@toolhive/contract/loopback';
import { fetchJson } from '@toolhive/outgoing/guarded-fetch';
import type { Lookup } from '@toolhive/outgoing/way-out';
import * as z from 'zod';
import { fuse } from './fusion.ts';
import type { FoundTool, SearchableTool, ToolIndex } from './tool-index.ts';

export interface EmbeddingOptions {
  /** The base URL of an OpenAI-compatible API, such as `http://127.0.0.1:11434/v1`. */
  url: string;
  model: string;
  apiKey: string | undefined;
  /** Whether the endpoint may be on this machine. */
  allowsLoopback: boolean;
  lookup: Lookup;
  /** Writes to the log of the meta server. */
  note: (text: string) => void;
}

interface Given<Tool extends SearchableTool> {
  index: ToolIndex<Tool>;
  lexical: FoundTool<Tool>[];
  includes: (tool: Tool) => boolean;
  limit: number;
}

/** The answer of an endpoint, as far as its form matters. */
const Answer = z
  .object({
    data: z
      .array(z.object({ index: z.unknown(), embedding: z.unknown() }).partial().catch({}))
      .optional()
      .catch(undefined),
  })
  .catch({});

const timeoutMs = 5_000;
const batch = 64;
const maxText = 2_000;
const maxDimensions = 8_192;
/** Limit for one answer of the endpoint. */
const maxBytes = 16 * 1024 * 1024;
/** Limit for the stored vectors. */
const maxStoredBytes = 64 * 1024 * 1024;
/** How many tools the embeddings rank. */
const ranked = 50;
/** How long a failed endpoint is not asked again. */
const pauseMs = 30_000;

/** Ranks tools by the embeddings of an endpoint that the user has configured, in addition to their words. */
export class EmbeddingSearch {
  readonly #options: EmbeddingOptions;
  readonly #vectors = new Map<string, Float32Array>();
  #failedAtMs = Number.NEGATIVE_INFINITY;
  #problem: string | undefined;

  constructor(options: EmbeddingOptions) {
    this.#options = options;
  }

  /** Combines both rankings. If the endpoint fails, returns the ranking by words and the problem. */
  async fuse<Tool extends SearchableTool>(
    query: string,
    { index, lexical, includes, limit }: Given<Tool>,
    signal: AbortSignal,
  ): Promise<{ found: FoundTool<Tool>[]; problem?: string }> {
    const words = lexical.slice(0, limit);
    if (performance.now() - this.#failedAtMs < pauseMs)
      return { found: words, ...(this.#problem === undefined ? {} : { problem: this.#problem }) };
    try {
      const tools = index.tools.filter(includes);
      const [asked, ...vectors] = await this.#vectorsOf([query, ...tools.map(textOf)], signal);
      const near = tools
        .map((tool, at) => ({ tool, similarity: similarity(asked, vectors[at]) }))
        .toSorted((one, other) => other.similarity - one.similarity || (one.tool.id < other.tool.id ? -1 : 1))
        .slice(0, ranked);
      return { found: combined(lexical, near, limit) };
    } catch (error) {
      signal.throwIfAborted();
      this.#failedAtMs = performance.now();
      this.#problem = `the embedding endpoint cannot be used, so only words are compared: ${messageOf(error)}`;
      this.#options.note(this.#problem);
      return { found: words, problem: this.#problem };
    }
  }

  async #vectorsOf(texts: readonly string[], signal: AbortSignal): Promise<(Float32Array | undefined)[]> {
    const keys = texts.map((text) => hash('sha256', text));
    const missing = new Map(
      keys.flatMap((key, at) => (this.#vectors.has(key) ? [] : [[key, texts[at] ?? ''] as const])),
    );
    const pending = [...missing];
    for (let at = 0; at < pending.length; at += batch) {
      const part = pending.slice(at, at + batch);
      const vectors = await this.#request(
        part.map(([, text]) => text),
        signal,
      );
      for (const [offset, [key]] of part.entries()) {
        const vector = vectors[offset];
        if (vector !== undefined) this.#vectors.set(key, vector);
      }
    }
    const found = keys.map((key) => this.#vectors.get(key));
    let bytes = 0;
    for (const { byteLength } of this.#vectors.values()) bytes += byteLength;
    for (const [key, { byteLength }] of this.#vectors) {
      if (bytes <= maxStoredBytes) break;
      bytes -= byteLength;
      this.#vectors.delete(key);
    }
    return found;
  }

  async #request(input: readonly string[], signal: AbortSignal): Promise<Float32Array[]> {
    const { url, model, apiKey, allowsLoopback, lookup } = this.#options;
    const { hostname, protocol } = new URL(url);
    const isLocal = allowsLoopback && isLoopback(hostname.replace(/^\[|\]$/g, ''));
    const { body } = await fetchJson(`${url.replace(/\/+$/, '')}/embeddings`, {
      method: 'POST',
      body: JSON.stringify({ model, input }),
      headers: {
        'content-type': 'application/json',
        ...(apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }),
      },
      allowPrivate: isLocal,
      allowHttp: protocol === 'http:',
      followRedirects: false,
      maxBytes,
      timeoutMs,
      signal,
      lookup,
    });
    const { data } = Answer.parse(body);
    if (data?.length !== input.length)
      throw unavailable('the endpoint did not return one embedding for each text');
    const vectors = new Map<unknown, Float32Array>();
    for (const [at, item] of data.entries()) {
      const { index = at, embedding } = item;
      if (!isVector(embedding))
        throw unavailable('the endpoint returned an embedding that is not a list of numbers');
      vectors.set(index, Float32Array.from(embedding));
    }
    return input.map((_, at) => {
      const vector = vectors.get(at);
      if (vector !== undefined) return vector;
      throw unavailable('the endpoint did not return one embedding for each text');
    });
  }
}

function isVector(value: unknown): value is number[] {
  return (
    Array.isArray(value) &&
    value.length > 0 &&
    value.length <= maxDimensions &&
    value.every((part) => typeof part === 'number' && Number.isFinite(part))
  );
}

function textOf({ name, description = '', server }: SearchableTool): string {
  return `${server} ${name}: ${description}`.slice(0, maxText);
}

function similarity(one: Float32Array | undefined, other: Float32Array | undefined): number {
  if (one === undefined || other === undefined || one.length !== other.length) return -1;
  let product = 0;
  let [lengthOne, lengthOther] = [0, 0];
  for (let at = 0; at < one.length; at++) {
    const [a, b] = [one[at] ?? 0, other[at] ?? 0];
    product += a * b;
    lengthOne += a * a;
    lengthOther += b * b;
  }
  return product / (Math.sqrt(lengthOne * lengthOther) || 1);
}

function combined<Tool extends SearchableTool>(
  lexical: readonly FoundTool<Tool>[],
  near: readonly { tool: Tool; similarity: number }[],
  limit: number,
): FoundTool<Tool>[] {
  const byWords = new Map(lexical.map((found) => [found.tool.id, found]));
  const byMeaning = new Map(near.map((one) => [one.tool.id, one]));
  return fuse([[...byWords.keys()], [...byMeaning.keys()]])
    .slice(0, limit)
    .flatMap(({ item, score }) => {
      const found = byWords.get(item);
      if (found !== undefined) return [{ ...found, score }];
      const one = byMeaning.get(item);
      return one === undefined
        ? []
        : [{ tool: one.tool, score, distance: Math.min(1, Math.max(0, 1 - one.similarity)), reason: [] }];
    });
}
