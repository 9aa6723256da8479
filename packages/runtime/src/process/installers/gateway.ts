import { lookup, type LookupAddress, type LookupAllOptions } from 'node:dns';
import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { type LookupFunction, type Server as NetServer, createServer, isIP } from 'node:net';
import { dirname, join } from 'node:path';
import { RequestError, Server } from 'proxy-chain';
import { refusalOf } from '../../addresses.ts';
import { type SocketPlace, socketFolder } from '../../published-socket.ts';
import { openFiles } from '../../open-files.ts';
import { type Target, corporateProxyFor } from '../../corporate-proxy.ts';

export interface GatewayOptions {
  place: SocketPlace;
  /** The `HOST:PORT` of the package registries that the user has configured, wherever they are. */
  registries: ReadonlySet<string>;
  /** Whether only the registries are reachable. */
  isLimited: boolean;
  /** Names the corporate proxy, if there is one. */
  env: NodeJS.ProcessEnv;
}

/**
 * An installer's route to the network: an HTTP proxy on a Unix socket. It connects to the configured registries, and
 * to public addresses on ports 80 and 443, because registries redirect downloads to other hosts. It refuses all other
 * addresses on this machine and in its networks.
 */
export class Gateway implements AsyncDisposable {
  readonly path: string;
  readonly #listener: NetServer;
  readonly #proxy: Server;

  private constructor(path: string, listener: NetServer, proxy: Server) {
    this.path = path;
    this.#listener = listener;
    this.#proxy = proxy;
  }

  static async open({ place, registries, isLimited, env }: GatewayOptions): Promise<Gateway> {
    const path = join(await socketFolder(place), 's');
    const proxy = new Server({
      prepareRequestFunction({ hostname, port, isHttp }) {
        const target = { host: hostname.replace(/^\[|\]$/g, ''), port, isHttp };
        const isRegistry = registries.has(`${target.host}:${port}`);
        if (!isRegistry) refuseForbidden(target, isLimited);
        const upstreamProxyUrl = corporateProxyFor(target, env) ?? null;
        const isDirect = upstreamProxyUrl === null && !isRegistry;
        return { upstreamProxyUrl, ...(isDirect ? { dnsLookup: publicLookup } : {}) };
      },
    });
    proxy.on('error', () => {}); // of single connections, whose ends tell the installer
    const listener = createServer({ allowHalfOpen: true }, (connection) => {
      // The library takes a connection without an address for one that has ended, but Unix sockets have none.
      Object.defineProperty(connection, 'remoteAddress', { value: path });
      proxy.server.emit('connection', connection);
    });
    listener.maxConnections = openFiles.budgets.installer;
    listener.listen(path);
    await once(listener, 'listening');
    listener.on('error', () => {}); // one connection could not be accepted
    return new Gateway(path, listener, proxy);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#proxy.closeConnections();
    this.#listener.close();
    await rm(dirname(this.path), { recursive: true, force: true });
  }
}

const webPorts: ReadonlySet<number> = new Set([80, 443]);

function refuseForbidden({ host, port }: Target, isLimited: boolean): void {
  if (isLimited || !webPorts.has(port))
    throw new RequestError(`${host}:${port} is not a configured package registry`, 403);
  const refusal = isIP(host) === 0 ? undefined : refusalOf(host, false);
  if (refusal !== undefined) throw new RequestError(`${host} is ${refusal}`, 403);
}

/** Resolves names to public addresses alone, at the moment of connecting. */
const publicLookup: typeof lookup = Object.assign(
  (host: string, options: LookupAllOptions, callback: Parameters<LookupFunction>[2]) => {
    lookup(host, { ...options, all: true }, (error, addresses: LookupAddress[]) => {
      if (error !== null) return callback(error, []);
      const allowed = addresses.filter(({ address }) => refusalOf(address, false) === undefined);
      const [first] = allowed;
      if (first === undefined) {
        const refusal = new Error(`${host} has no public address`);
        return callback(Object.assign(refusal, { code: 'EACCES' }), []);
      }
      if (options.all) return callback(null, allowed);
      callback(null, first.address, first.family);
    });
  },
  { __promisify__: lookup.__promisify__ },
) as typeof lookup; // the one overload that connections use
