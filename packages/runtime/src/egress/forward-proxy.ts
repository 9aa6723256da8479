import { type IncomingMessage, type Server, type ServerResponse, createServer, request } from 'node:http';
import { type AddressInfo, type Socket, isIP } from 'node:net';
import { pipeline } from 'node:stream';
import { PassingSet } from '@toolhive/contract/passing';
import type { Egress } from '../egress.ts';
import { normalizeName } from '../host-patterns.ts';
import { openFiles } from '../open-files.ts';
import type { Destination, Verdict } from '../outbound-rules.ts';
import { requestHeaders, withoutHopHeaders } from './http-headers.ts';
import { Refused, addressesOf, join, lookupOf, reach, requireNamed, verdictOn } from './outbound.ts';
import { type Resolve, openResolver } from './resolver.ts';

const MAX_CONNECTIONS = openFiles.budgets.forwarded;
const HEADERS_MS = 10_000;
const REQUEST_MS = 10_000;
/** Node.js reads lower ones (RFC 9110, section 15), but does not write them. */
const LOWEST_STATUS = 100;

export interface ForwardProxyOptions {
  host: string;
  port: number;
  egress: Pick<Egress, 'rules' | 'record'>;
  /** Replaces the resolvers of this machine, in tests. */
  resolve?: Resolve;
}

/**
 * A server's only route to the network where no gateway can be put in front of its network interface: an HTTP proxy for
 * `CONNECT` (RFC 9110, section 9.3.6) and for requests in absolute form (RFC 9112, section 3.2.2). It resolves names
 * itself, and checks each request and tunnel with the same rules as the gateway: the name, the port, the name in the
 * first bytes, and every address.
 */
export class ForwardProxy implements AsyncDisposable {
  readonly #egress: ForwardProxyOptions['egress'];
  readonly #resolve: Resolve;
  readonly #server: Server;
  readonly #tunnels = new PassingSet<Socket>();

  private constructor({ egress, resolve = openResolver() }: ForwardProxyOptions) {
    this.#egress = egress;
    this.#resolve = resolve;
    this.#server = createServer({ headersTimeout: HEADERS_MS, requestTimeout: 0 });
    this.#server.maxConnections = MAX_CONNECTIONS;
    // A fault breaks this one connection.
    this.#server.on('request', (incoming, response) => {
      this.#forward(incoming, response).catch(() => response.destroy());
    });
    this.#server.on('connect', (incoming, inner: Socket, head) => {
      this.#tunnel(incoming, inner, head).catch(() => inner.destroy());
    });
    this.#server.on('upgrade', (_incoming, socket) => socket.destroy()); // web sockets use tunnels
  }

  /** Opens the port. Rejects if the port is in use. */
  static async open(options: ForwardProxyOptions): Promise<ForwardProxy> {
    const proxy = new ForwardProxy(options);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    proxy.#server.once('error', reject);
    proxy.#server.listen(options.port, options.host, resolve);
    await promise;
    proxy.#server.off('error', reject).on('error', () => {}); // one connection could not be accepted
    return proxy;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port; // it listens on TCP
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#server.close(() => resolve());
    this.#server.closeAllConnections();
    for (const tunnel of this.#tunnels) tunnel.destroy();
    await promise;
  }

  async #tunnel({ url = '' }: IncomingMessage, inner: Socket, head: Buffer): Promise<void> {
    inner.on('error', () => {});
    const target = targetOf(url);
    if (target === undefined || this.#tunnels.size >= MAX_CONNECTIONS) {
      inner.end(headOf(target === undefined ? 400 : 503));
      return;
    }
    this.#tunnels.add(inner);
    inner.on('close', () => this.#tunnels.delete(inner));
    const { destination, port } = target;
    const host = hostOf(destination);
    let isOpen = false;
    try {
      const verdict = this.#allowed(destination, port);
      const addresses = await this.#addressesOf(destination, verdict);
      const outer = await reach(inner, { destination, port, addresses });
      outer.on('close', () => this.#tunnels.delete(outer));
      this.#tunnels.add(outer);
      inner.write(headOf(200));
      isOpen = true;
      if (head.length > 0) inner.unshift(head);
      if ('name' in destination) await requireNamed(inner, destination.name, port);
      const ended = this.#egress.record({ host, port, verdict: 'allowed', rule: verdict.rule });
      join(inner, outer, (traffic) => ended?.(traffic));
    } catch (error) {
      this.#recordRefusal(error, host, port);
      // An orderly end of an open tunnel would look like an empty response.
      if (isOpen) inner.resetAndDestroy();
      else if (!inner.destroyed) inner.end(headOf(error instanceof Refused ? 403 : 502, reasonOf(error)));
    }
  }

  async #forward(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = URL.parse(incoming.url ?? '');
    const named = url === null ? undefined : targetOf(`${url.hostname}:${url.port || '80'}`);
    if (url?.protocol !== 'http:' || named === undefined || url.username !== '')
      return reply(response, 400, 'send the complete http URL of a host, or use CONNECT');
    const { destination, port } = named;
    const host = hostOf(destination);
    // The host that the server answers for is the one that the rules were asked about.
    const hosts = incoming.headersDistinct['host'] ?? [];
    if (hosts.length !== 1 || hosts[0]?.toLowerCase() !== url.host)
      return this.#refuse(response, new Refused('the Host header names another host', 'nothing'), host, port);
    try {
      const verdict = this.#allowed(destination, port);
      const addresses = await this.#addressesOf(destination, verdict);
      const ended = this.#egress.record({ host, port, verdict: 'allowed', rule: verdict.rule });
      const outer = request({
        host,
        port,
        ...('name' in destination ? { lookup: lookupOf(addresses) } : {}),
        method: incoming.method,
        path: `${url.pathname}${url.search}`,
        headers: requestHeaders(incoming, url.host),
        setHost: false,
        agent: false,
      });
      response.on('close', () => {
        outer.destroy();
        const { socket } = outer;
        if (socket !== null) ended?.({ sent: socket.bytesWritten, received: socket.bytesRead });
      });
      outer.on('response', (answer) => {
        const { statusCode = 0, rawHeaders } = answer;
        if (statusCode < LOWEST_STATUS) {
          reply(response, 502, `${host} sent an invalid response`);
          outer.destroy();
          return;
        }
        response.writeHead(statusCode, withoutHopHeaders(rawHeaders));
        pipeline(answer, response, () => {}); // a broken answer also breaks the response
      });
      outer.on('error', () => {
        if (response.headersSent) response.destroy();
        else reply(response, 502, `${host} cannot be reached`);
      });
      outer.setTimeout(REQUEST_MS, () => {
        if (outer.socket?.connecting === true) outer.destroy(new Error('it does not answer'));
      });
      pipeline(incoming, outer, () => {}); // the handlers above answer the client
    } catch (error) {
      this.#refuse(response, error, host, port);
    }
  }

  /** Returns the verdict. Throws `Refused` if the rules do not allow the connection. */
  #allowed(destination: Destination, port: number): Extract<Verdict, { isAllowed: true }> {
    const verdict = verdictOn(this.#egress.rules, destination, port);
    if (!verdict.isAllowed) throw new Refused(verdict.reason, verdict.missing);
    return verdict;
  }

  #addressesOf(destination: Destination, verdict: Extract<Verdict, { isAllowed: true }>): Promise<string[]> {
    return addressesOf(destination, verdict, { rules: this.#egress.rules, resolve: this.#resolve });
  }

  #refuse(response: ServerResponse, error: unknown, host: string, port: number): void {
    this.#recordRefusal(error, host, port);
    reply(response, error instanceof Refused ? 403 : 502, reasonOf(error) ?? `${host} cannot be reached`);
  }

  #recordRefusal(error: unknown, host: string, port: number): void {
    if (!(error instanceof Refused)) return;
    const { message: reason, missing, address } = error;
    this.#egress.record({ host, port, verdict: 'denied', reason, missing, ...(address && { address }) });
  }
}

/** The destination in `HOST:PORT`. Undefined if the text contains no host, or no port. */
function targetOf(text: string): { destination: Destination; port: number } | undefined {
  const [, bracketed, plain = '', digits = ''] =
    /^(?:\[([^\]]+)\]|([^:[\]/?#@]+)):(\d{1,5})$/.exec(text) ?? [];
  const port = Number(digits);
  if (digits === '' || port === 0 || port > 65_535) return undefined;
  if (bracketed !== undefined)
    return isIP(bracketed) === 6 ? { destination: { address: bracketed }, port } : undefined;
  if (isIP(plain) === 4) return { destination: { address: plain }, port };
  const name = normalizeName(plain);
  // The URL parser also reads 0x7f.1 and 2130706433 as addresses, and so do resolvers.
  const isNumeric = name !== undefined && isIP(URL.parse(`http://${name}/`)?.hostname ?? '') !== 0;
  return name === undefined || isNumeric ? undefined : { destination: { name }, port };
}

const hostOf = (destination: Destination): string =>
  'name' in destination ? destination.name : destination.address;

const statusTexts: Readonly<Record<number, string>> = {
  200: 'Connection Established',
  400: 'Bad Request',
  403: 'Forbidden',
  502: 'Bad Gateway',
  503: 'Service Unavailable',
};

function headOf(status: number, reason?: string): string {
  const text = reason === undefined ? '' : `${reason}\n`;
  const length = status === 200 ? '' : `Content-Length: ${Buffer.byteLength(text)}\r\nConnection: close\r\n`;
  return `HTTP/1.1 ${status} ${statusTexts[status] ?? ''}\r\n${length}\r\n${text}`;
}

const reasonOf = (error: unknown): string | undefined =>
  error instanceof Refused ? `refused by the permission profile: ${error.message}` : undefined;

function reply(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8' }).end(`${text}\n`);
}
