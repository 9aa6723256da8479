/** A destination in the first bytes of a connection: its name, null if they name none, undefined if more are needed. */
export type Peek = (bytes: Buffer) => string | null | undefined;

/** How the first bytes on a port name their destination. On other ports, the server may send first. */
export const peeks: Readonly<Record<number, Peek>> = { 80: hostIn, 443: serverNameIn };

/** How much may precede the name. A ClientHello with post-quantum keys is larger than one packet. */
export const PEEK_BYTES = 32 * 1024;

/**
 * The host of an HTTP request (RFC 9112, section 3.2). Null for a tunnel (CONNECT), for a request with several hosts
 * or none, and for a target that names another host than the header.
 */
export function hostIn(bytes: Buffer): string | null | undefined {
  const text = bytes.toString('latin1');
  const end = /\r?\n\r?\n/.exec(text)?.index;
  if (end === undefined) return undefined;
  const [requestLine = '', ...lines] = text.slice(0, end).split(/\r?\n/);
  const [, target = ''] = /^(?!CONNECT )[A-Z]+ (\S+) HTTP\/1\.[01]$/.exec(requestLine) ?? [];
  const hosts = lines.filter((line) => /^host[ \t]*:/i.test(line));
  if (target === '' || hosts.length !== 1) return null;
  const host = withoutPort(hosts[0]?.slice(hosts[0].indexOf(':') + 1) ?? '');
  const named = /^https?:\/\/(?:[^/?#@]*@)?([^/?#]*)/i.exec(target)?.[1];
  if (named === undefined) return target.startsWith('/') || target === '*' ? host : null;
  return withoutPort(named) === host ? host : null;
}

const withoutPort = (host: string): string => host.trim().replace(/:\d*$/, '').toLowerCase();

const HANDSHAKE = 22;
const CLIENT_HELLO = 1;
const RECORD_HEADER_BYTES = 5;

/**
 * The server name in a TLS ClientHello (RFC 8446, section 4.1.2, and RFC 6066, section 3), which may span several
 * records.
 */
export function serverNameIn(bytes: Buffer): string | null | undefined {
  const fragments: Buffer[] = [];
  for (let at = 0; at < bytes.length;) {
    if (bytes[at] !== HANDSHAKE) return null;
    if (bytes.length < at + RECORD_HEADER_BYTES) return undefined;
    const end = at + RECORD_HEADER_BYTES + bytes.readUInt16BE(at + 3);
    fragments.push(bytes.subarray(at + RECORD_HEADER_BYTES, end));
    at = end;
  }
  const hello = Buffer.concat(fragments);
  if (hello.length < 4) return undefined;
  if (hello[0] !== CLIENT_HELLO) return null;
  const end = 4 + hello.readUIntBE(1, 3);
  return hello.length < end ? undefined : serverNameOf(hello.subarray(0, end));
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
