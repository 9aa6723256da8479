import { unavailable } from '@toolhive/contract/failure';
import { isLoopback } from '@toolhive/contract/loopback';
import * as z from 'zod';
import { guardedFetch } from '@toolhive/outgoing/guarded-fetch';
import { fetchConfigured, readJson } from './registry-json.ts';
import type { RegistryRequest } from './registry-json.ts';

/** An image by its content. */
export interface PinnedImage {
  /** The host of the registry, with its port. */
  host: string;
  repository: string;
  /** `sha256:…` */
  digest: string;
}

/** Takes apart a reference with a digest. Undefined for one without. */
export function pinnedImage(reference: string): PinnedImage | undefined {
  const [, name = '', digest] = /^(.+?)(?::[\w][\w.-]*)?@(sha256:[0-9a-f]{64})$/.exec(reference) ?? [];
  if (digest === undefined) return undefined;
  const [first = '', ...rest] = name.split('/');
  const isHost = rest.length > 0 && /[.:]|^localhost$/.test(first);
  if (isHost && first !== 'docker.io') return { host: first, repository: rest.join('/'), digest };
  const path = isHost ? rest : [first, ...rest];
  return { host: DOCKER_HUB, repository: path.length === 1 ? `library/${path[0]}` : path.join('/'), digest };
}

const DOCKER_HUB = 'registry-1.docker.io';
const types =
  'application/vnd.oci.image.manifest.v1+json, application/vnd.oci.image.index.v1+json, application/json, */*';

const Token = z.object({ token: z.string().optional(), access_token: z.string().optional() });

/** Reads from the repository of an image. Registries that want a token get one as for anyone. */
export class OciRepository {
  readonly #base: URL;
  readonly #request: RegistryRequest;
  #token: string | undefined;

  constructor({ host, repository }: PinnedImage, request: RegistryRequest) {
    const isHere = isLoopback(host.replace(/:\d+$/, '').replace(/^\[|\]$/g, ''));
    this.#base = new URL(`${isHere ? 'http' : 'https'}://${host}/v2/${repository}/`);
    this.#request = request;
  }

  /** The JSON at a path of the repository. Undefined if there is nothing. */
  async json(path: string): Promise<unknown> {
    const { address, answer } = await this.#get(path);
    return readJson(answer, address);
  }

  /** The text of a blob. */
  async blob(digest: string): Promise<string> {
    const { address, answer } = await this.#get(`blobs/${digest}`);
    if (answer.status === 200) return answer.text;
    throw unavailable(`${address.origin}${address.pathname} returned status ${answer.status}`);
  }

  async #get(path: string) {
    const address = new URL(path, this.#base);
    const fetch = () =>
      fetchConfigured(
        address,
        { ...this.#request, accept: types },
        this.#token === undefined ? {} : { authorization: `Bearer ${this.#token}` },
      );
    const answer = await fetch();
    const challenge = answer.headers['www-authenticate'];
    if (answer.status !== 401 || typeof challenge !== 'string' || this.#token !== undefined) {
      return { address, answer };
    }
    this.#token = await this.#requestToken(challenge);
    return { address, answer: await fetch() };
  }

  async #requestToken(challenge: string): Promise<string> {
    const part = (name: string) => new RegExp(`\\b${name}="([^"]*)"`).exec(challenge)?.[1];
    const realm = /^bearer\b/i.test(challenge) ? URL.parse(part('realm') ?? '') : null;
    if (realm === null) throw unavailable(`${this.#base.host} requires a password to read signatures`);
    for (const name of ['service', 'scope']) {
      const value = part(name);
      if (value !== undefined) realm.searchParams.set(name, value);
    }
    const { signal, env } = this.#request;
    // The registry chooses this URL, so only public addresses are allowed, except for the registry itself.
    const allowPrivate = realm.origin === this.#base.origin;
    const answer = await guardedFetch(realm.href, {
      allowPrivate,
      signal,
      env,
      headers: { accept: 'application/json' },
    });
    const { token, access_token: other } = Token.catch({}).parse(readJson(answer, realm));
    if (token === undefined && other === undefined) throw unavailable(`${realm.host} did not return a token`);
    return token ?? other ?? '';
  }
}
