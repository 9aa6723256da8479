/** Finds the destination in the first bytes of a connection: its name, null if the bytes name none, undefined if more are needed. */
export interface Peek {
  /** Looks at the next piece. Every byte is looked at once. */
  add(piece: Buffer): string | null | undefined;
}

/** How the first bytes on a port name their destination. On other ports, the server may send first. */
export const peeks: Readonly<Record<number, () => Peek>> = {
  80: () => new HostPeek(),
  443: () => new ServerNamePeek(),
};

/** How much may precede the name. A ClientHello with post-quantum keys is larger than one packet. */
export const PEEK_BYTES = 32 * 1024;

const LINE_FEED = 10;
const CARRIAGE_RETURN = 13;

/**
 * The host of an HTTP request (RFC 9112, section 3.2). Null for a tunnel (CONNECT), for a request with several hosts or
 * none, for a target that names another host than the header, and for header lines that servers read in different ways,
 * such as folded ones (section 5.2).
 */
class HostPeek implements Peek {
  readonly #lines: string[] = [];
  #line: Buffer[] = [];

  add(piece: Buffer): string | null | undefined {
    for (let at = 0; at < piece.length;) {
      const end = piece.indexOf(LINE_FEED, at);
      if (end === -1) {
        this.#line.push(piece.subarray(at));
        return undefined;
      }
      const line = withoutReturn(Buffer.concat([...this.#line, piece.subarray(at, end)]));
      if (line === '') return hostOf(this.#lines);
      this.#lines.push(line);
      this.#line = [];
      at = end + 1;
    }
    return undefined;
  }
}

const withoutReturn = (line: Buffer): string =>
  line.toString('latin1', 0, line.at(-1) === CARRIAGE_RETURN ? line.length - 1 : line.length);

/** A field line (RFC 9112, section 5) without control characters, in which servers see different ends. */
// oxlint-disable-next-line no-control-regex -- control characters are the subject
const fieldLine = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):([^\0\r]*)$/;

function hostOf([requestLine = '', ...lines]: readonly string[]): string | null {
  const [, target = ''] = /^(?!CONNECT )[A-Z]+ (\S+) HTTP\/1\.[01]$/.exec(requestLine) ?? [];
  const fields = lines.map((line) => fieldLine.exec(line));
  if (target === '' || fields.includes(null)) return null;
  const hosts = fields.flatMap((field) => (field?.[1]?.toLowerCase() === 'host' ? [field[2] ?? ''] : []));
  if (hosts.length !== 1) return null;
  const host = withoutPort(hosts[0] ?? '');
  const named = /^https?:\/\/(?:[^/?#@]*@)?([^/?#]*)/i.exec(target)?.[1];
  if (named === undefined) return target.startsWith('/') || target === '*' ? host : null;
  return withoutPort(named) === host ? host : null;
}

const withoutPort = (host: string): string => host.trim().replace(/:\d*$/, '').toLowerCase();

const HANDSHAKE = 22;
const CLIENT_HELLO = 1;
const RECORD_HEADER_BYTES = 5;
const MESSAGE_HEADER_BYTES = 4;
const FIRST_HELLO_BYTES = 2048;

/**
 * The server name in a TLS ClientHello (RFC 8446, section 4.1.2, and RFC 6066, section 3), which may span several
 * records.
 */
class ServerNamePeek implements Peek {
  readonly #header = Buffer.alloc(RECORD_HEADER_BYTES);
  #headerBytes = 0;
  /** How many bytes of the current record are missing. */
  #left = 0;
  #hello = Buffer.alloc(FIRST_HELLO_BYTES);
  #helloBytes = 0;

  add(piece: Buffer): string | null | undefined {
    for (let at = 0; at < piece.length;) {
      at += this.#left > 0 ? this.#takeContent(piece.subarray(at)) : this.#takeHeader(piece.subarray(at));
      if (this.#header[0] !== HANDSHAKE) return null;
      const name = this.#nameIn(this.#hello.subarray(0, this.#helloBytes));
      if (name !== undefined) return name;
    }
    return undefined;
  }

  #takeHeader(bytes: Buffer): number {
    const taken = bytes.copy(this.#header, this.#headerBytes);
    this.#headerBytes += taken;
    if (this.#headerBytes < RECORD_HEADER_BYTES) return taken;
    this.#left = this.#header.readUInt16BE(3);
    this.#headerBytes = 0;
    return taken;
  }

  #takeContent(bytes: Buffer): number {
    const taken = Math.min(bytes.length, this.#left);
    while (this.#helloBytes + taken > this.#hello.length)
      this.#hello = Buffer.concat([this.#hello], this.#hello.length * 2); // filled with zeros
    this.#helloBytes += bytes.copy(this.#hello, this.#helloBytes, 0, taken);
    this.#left -= taken;
    return taken;
  }

  #nameIn(hello: Buffer): string | null | undefined {
    if (hello.length < MESSAGE_HEADER_BYTES) return undefined;
    if (hello[0] !== CLIENT_HELLO) return null;
    const end = MESSAGE_HEADER_BYTES + hello.readUIntBE(1, 3);
    if (end > PEEK_BYTES) return null;
    return hello.length < end ? undefined : serverNameOf(hello.subarray(0, end));
  }
}

const SERVER_NAME = 0;
const HOST_NAME = 0;

function serverNameOf(hello: Buffer): string | null {
  try {
    let at = 38; // type, length, version, and random
    at += 1 + hello.readUInt8(at); // session ID
    at += 2 + hello.readUInt16BE(at); // cipher suites
    at += 1 + hello.readUInt8(at); // compression methods
    at += 2; // length of the extensions
    for (; at < hello.length; at += 4 + hello.readUInt16BE(at + 2)) {
      if (hello.readUInt16BE(at) !== SERVER_NAME) continue;
      const length = hello.readUInt16BE(at + 7);
      // The length of a list with one name. A second name could be the one that the server uses.
      const isOnly = hello.readUInt16BE(at + 2) === length + 5 && hello.readUInt16BE(at + 4) === length + 3;
      if (!isOnly || hello.readUInt8(at + 6) !== HOST_NAME || at + 9 + length > hello.length) return null;
      return hello.toString('latin1', at + 9, at + 9 + length).toLowerCase();
    }
    return null;
  } catch {
    return null; // it ends early
  }
}
