import type { Readable } from 'node:stream';
import { LineSplitter } from '@toolhive/contract/line-splitter';
import { Agent, DecoratorHandler, buildConnector } from 'undici';
import type { Dispatcher } from 'undici';
import type { ClusterConfig } from './config.ts';
import { collectionPath, objectPath } from './object.ts';
import type { KubernetesObject, ResourceType } from './object.ts';
import { ApiStatus, statusOf } from './status.ts';
import { PING_MS, answersPings, watchOver } from './watchdog.ts';

/** The name of an object. Without a namespace, that of the configuration applies to namespaced kinds. */
export interface ObjectName {
  name: string;
  namespace?: string | undefined;
}

export interface ListOptions {
  /** Without a namespace, all namespaces. */
  namespace?: string | undefined;
  labelSelector?: string | undefined;
  fieldSelector?: string | undefined;
  /** Return metadata only, as `PartialObjectMetadata`. */
  metadataOnly?: boolean;
  signal?: AbortSignal | undefined;
}

/** All objects of a kind at one version, which a watch can continue from. */
export interface ObjectList<T> {
  resourceVersion: string;
  items: T[];
}

/** A change. A bookmark has metadata with a `resourceVersion` only. */
export interface WatchEvent<T> {
  type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK';
  object: T;
}

export interface WatchOptions extends ListOptions {
  resourceVersion: string;
  /** How long the server keeps the watch open. */
  timeoutSeconds?: number;
  /** Called when the server has accepted the watch. */
  onOpen?: () => void;
  /** Reports each arrival of bytes, for the detection of half-open connections. */
  onBytes?: () => void;
}

export interface ApplyOptions {
  /** The owner of the applied fields. */
  fieldManager: string;
  /** Take over fields that other managers own. */
  force?: boolean;
  signal?: AbortSignal | undefined;
}

/** One finished request: its method, its host, and its status code, or `<error>` without an answer. */
export type RequestObserver = (request: { method: string; host: string; code: string }) => void;

export interface ClientOptions {
  userAgent?: string;
  onRequest?: RequestObserver;
  /** Called immediately before each request that may change something. An error prevents the request. */
  beforeWrite?: () => void;
  /** How long the server may take to answer. The default is 30 s. */
  timeoutMs?: number;
}

interface Call {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  path: string;
  query?: Record<string, string | number | boolean | undefined>;
  body?: unknown;
  contentType?: string;
  accept?: string;
  signal?: AbortSignal | undefined;
  isEndless?: boolean;
}

const CALL_TIMEOUT_MS = 30_000;
const CONNECT_TIMEOUT_MS = 10_000;
/** A larger answer than any that the API server can give: a page of 500 objects of at most 1.5 MiB in etcd. */
const MAX_ANSWER_BYTES = 1024 * 1024 * 1024;
/** A line of a watch holds one object. */
const MAX_LINE_CHARACTERS = 32 * 1024 * 1024;
const PAGE_SIZE = 500;
const METADATA_ONLY = 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1';
const METADATA_LIST = 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1';

/** A client of one API server. Every refusal is an `ApiStatus`. A lost connection is an error of Node.js or undici. */
export class KubernetesClient implements AsyncDisposable {
  readonly config: ClusterConfig;
  readonly #agent: Agent;
  readonly #dispatcher: Dispatcher;
  readonly #options: ClientOptions;
  #noticesDeath = false;

  constructor(config: ClusterConfig, options: ClientOptions = {}) {
    this.config = config;
    this.#options = options;
    const connect = buildConnector({
      ...config.tls,
      timeout: CONNECT_TIMEOUT_MS,
      allowH2: true,
      preferH2: true,
    });
    this.#agent = new Agent({
      connect: (target, done) =>
        connect(target, (...result) => {
          const [error, socket] = result;
          if (error === null) {
            this.#noticesDeath = answersPings(socket);
            if (this.#noticesDeath) watchOver(socket);
          }
          done(...result);
        }),
      h2Options: { pingInterval: PING_MS },
      headersTimeout: options.timeoutMs ?? CALL_TIMEOUT_MS,
      bodyTimeout: options.timeoutMs ?? CALL_TIMEOUT_MS,
    });
    this.#dispatcher =
      options.beforeWrite === undefined ? this.#agent : checked(this.#agent, options.beforeWrite);
  }

  /**
   * Whether the latest connection ends when its peer is gone. Otherwise only short watches show that a connection is
   * half-open.
   */
  get noticesDeath(): boolean {
    return this.#noticesDeath;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#agent.destroy();
  }

  /** Reads one object, or only its metadata. Throws `ApiStatus` with code 404 if the object does not exist. */
  async get<T extends KubernetesObject>(
    type: ResourceType,
    name: ObjectName,
    { signal, metadataOnly = false }: { signal?: AbortSignal | undefined; metadataOnly?: boolean } = {},
  ): Promise<T> {
    return this.#json({
      method: 'GET',
      path: this.#path(type, name),
      signal,
      ...(metadataOnly ? { accept: METADATA_ONLY } : {}),
    });
  }

  /** Reads all objects of a kind, page by page. */
  async list<T extends KubernetesObject>(
    type: ResourceType,
    options: ListOptions = {},
  ): Promise<ObjectList<T>> {
    const items: T[] = [];
    let token: string | undefined;
    for (;;) {
      const page = await this.#json<ListPage<T>>({
        method: 'GET',
        path: collectionPath(type, options.namespace),
        query: { ...selectorsOf(options), limit: PAGE_SIZE, continue: token },
        signal: options.signal,
        ...(options.metadataOnly === true ? { accept: METADATA_LIST } : {}),
      });
      // The items of a list come without their type.
      for (const item of page.items ?? []) {
        items.push({ ...item, apiVersion: type.apiVersion, kind: type.kind });
      }
      token = page.metadata.continue;
      if (!token) return { resourceVersion: page.metadata.resourceVersion, items };
    }
  }

  /**
   * Yields the changes after a version until the server ends the watch. Throws `ApiStatus` with code 410 if the version
   * is too old, and the error of the connection if the connection breaks.
   */
  async *watch<T extends KubernetesObject>(
    type: ResourceType,
    options: WatchOptions,
  ): AsyncGenerator<WatchEvent<T>> {
    const body = await this.#stream({
      method: 'GET',
      path: collectionPath(type, options.namespace),
      query: {
        ...selectorsOf(options),
        watch: true,
        allowWatchBookmarks: true,
        resourceVersion: options.resourceVersion,
        timeoutSeconds: options.timeoutSeconds,
      },
      signal: options.signal,
      ...(options.metadataOnly === true ? { accept: METADATA_ONLY } : {}),
      isEndless: true,
    });
    options.onOpen?.();
    for await (const line of linesOf(body, options.onBytes)) {
      const event = JSON.parse(line) as WatchEvent<T> | { type: 'ERROR'; object: unknown };
      if (event.type === 'ERROR') throw statusOf(event.object);
      yield { type: event.type, object: { ...event.object, apiVersion: type.apiVersion, kind: type.kind } };
    }
  }

  /** Creates an object, or only tries to. Throws `ApiStatus` with code 409 if the object exists. */
  async create<T extends KubernetesObject>(
    type: ResourceType,
    object: T,
    signal?: AbortSignal,
    { isTrial = false }: { isTrial?: boolean } = {},
  ): Promise<T> {
    const namespace = object.metadata.namespace ?? this.config.namespace;
    const query = isTrial ? { dryRun: 'All', fieldValidation: 'Strict' } : {};
    const path = collectionPath(type, namespace);
    return this.#json({ method: 'POST', path, query, body: object, signal });
  }

  /** Replaces an object. The `resourceVersion` of the object has to be that of the stored one. */
  async replace<T extends KubernetesObject>(type: ResourceType, object: T, signal?: AbortSignal): Promise<T> {
    return this.#json({ method: 'PUT', path: this.#path(type, object.metadata), body: object, signal });
  }

  /** Creates or changes an object by server-side apply, with strict field validation. */
  async apply<T extends KubernetesObject>(type: ResourceType, object: T, options: ApplyOptions): Promise<T> {
    return this.#apply(this.#path(type, object.metadata), object, options);
  }

  /** Changes the status of an object by server-side apply. */
  async applyStatus<T extends KubernetesObject>(
    type: ResourceType,
    object: T,
    options: ApplyOptions,
  ): Promise<T> {
    return this.#apply(this.#path(type, object.metadata, 'status'), object, options);
  }

  /** Changes an object by a JSON merge patch. */
  async patch<T extends KubernetesObject>(
    type: ResourceType,
    name: ObjectName,
    patch: object,
    signal?: AbortSignal,
  ): Promise<T> {
    return this.#json({
      method: 'PATCH',
      path: this.#path(type, name),
      body: patch,
      contentType: 'application/merge-patch+json',
      signal,
    });
  }

  /** Deletes an object. With `uid`, only that incarnation. Throws `ApiStatus` with code 404 if there is none. */
  async delete(
    type: ResourceType,
    name: ObjectName,
    options: { uid?: string | undefined; signal?: AbortSignal } = {},
  ): Promise<void> {
    await this.#json({
      method: 'DELETE',
      path: this.#path(type, name),
      body: {
        apiVersion: 'v1',
        kind: 'DeleteOptions',
        propagationPolicy: 'Background',
        ...(options.uid === undefined ? {} : { preconditions: { uid: options.uid } }),
      },
      signal: options.signal,
    });
  }

  /** Reads a path that is not an object, such as `/version` or `/apis`. */
  async read(path: string, signal?: AbortSignal): Promise<unknown> {
    return this.#json({ method: 'GET', path, signal });
  }

  #path(type: ResourceType, { name, namespace }: ObjectName, subresource?: string): string {
    return objectPath(type, { name, namespace: namespace ?? this.config.namespace }, subresource);
  }

  async #apply<T extends KubernetesObject>(path: string, object: T, options: ApplyOptions): Promise<T> {
    return this.#json({
      method: 'PATCH',
      path,
      query: { fieldManager: options.fieldManager, force: options.force ?? false, fieldValidation: 'Strict' },
      body: object,
      contentType: 'application/apply-patch+yaml', // JSON is YAML
      signal: options.signal,
    });
  }

  async #json<T>(call: Call): Promise<T> {
    const body = await this.#stream(call);
    return JSON.parse(await textOf(body)) as T; // the API server checks objects against their schema
  }

  async #stream(call: Call): Promise<Readable> {
    const { method, path, query = {}, isEndless = false } = call;
    const host = new URL(this.config.server).host;
    const token = await this.config.token();
    const url = new URL(this.config.server);
    const search = new URLSearchParams(
      Object.entries(query).flatMap(([key, value]): [string, string][] =>
        value === undefined ? [] : [[key, String(value)]],
      ),
    );
    let code = '<error>';
    try {
      const response = await this.#dispatcher.request({
        origin: url.origin,
        path: `${url.pathname.replace(/\/$/, '')}${path}${search.size === 0 ? '' : `?${search.toString()}`}`,
        method,
        headers: {
          accept: call.accept ?? 'application/json',
          'user-agent': this.#options.userAgent ?? 'toolhive',
          ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
          ...(call.body === undefined ? {} : { 'content-type': call.contentType ?? 'application/json' }),
        },
        ...(call.body === undefined ? {} : { body: JSON.stringify(call.body) }),
        ...(call.signal === undefined ? {} : { signal: call.signal }),
        ...(isEndless ? { bodyTimeout: 0 } : {}),
      });
      code = String(response.statusCode);
      if (response.statusCode < 300) return response.body;
      const retryAfter = Number(response.headers['retry-after']);
      throw statusOf(
        await textOf(response.body),
        response.statusCode,
        retryAfter >= 0 ? retryAfter : undefined,
      );
    } finally {
      this.#options.onRequest?.({ method, host, code });
    }
  }
}

/**
 * Checks each request that may change something when its first bytes are written. A request waits for its connection
 * before that, and a process that was paused meanwhile must not continue.
 */
function checked(agent: Agent, check: () => void): Dispatcher {
  return agent.compose(
    (dispatch) => (options, handler) =>
      dispatch(options, options.method === 'GET' ? handler : new CheckedHandler(handler, check)),
  );
}

class CheckedHandler extends DecoratorHandler {
  readonly #handler: Dispatcher.DispatchHandler;
  readonly #check: () => void;

  constructor(handler: Dispatcher.DispatchHandler, check: () => void) {
    super(handler);
    this.#handler = handler;
    this.#check = check;
  }

  onRequestStart(controller: Dispatcher.DispatchController, context: unknown): void {
    this.#handler.onRequestStart?.(controller, context);
    try {
      this.#check();
    } catch (error) {
      controller.abort(error instanceof Error ? error : new Error(String(error)));
    }
  }
}

interface ListPage<T> {
  metadata: { resourceVersion: string; continue?: string };
  items: T[] | null;
}

function selectorsOf({ labelSelector, fieldSelector }: ListOptions): Record<string, string | undefined> {
  return { labelSelector, fieldSelector };
}

async function textOf(body: Readable): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > MAX_ANSWER_BYTES) throw new ApiStatus(500, '', 'the answer of the API server is too large');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

async function* linesOf(body: Readable, onBytes?: () => void): AsyncGenerator<string> {
  const splitter = new LineSplitter();
  body.setEncoding('utf8');
  try {
    for await (const chunk of body as AsyncIterable<string>) {
      onBytes?.();
      const lines = splitter.add(chunk);
      if (splitter.restLength > MAX_LINE_CHARACTERS)
        throw new ApiStatus(500, '', 'an event of the API server is too large');
      for (const line of lines) if (line !== '') yield line;
    }
  } finally {
    body.destroy();
  }
}
