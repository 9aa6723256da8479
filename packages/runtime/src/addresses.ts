import { BlockList, isIP } from 'node:net';
import { networkInterfaces } from 'node:os';

const loopback = 'a loopback address';
const metadata = 'a cloud metadata address';

/**
 * The special-purpose addresses in IANA's registries, and the addresses where clouds tell credentials to every program
 * that asks, with their purposes. Rules can allow `private` addresses. `local` ones are those credentials and the
 * neighbors on the same cable, and nothing allows them, because documents of others name hosts. No server has any of
 * the addresses that are `never` used.
 */
export const specialAddresses: readonly [
  subnet: string,
  kind: 'private' | 'local' | 'never',
  what: string,
][] = [
  // Before the subnets that contain them.
  ['100.100.100.200/32', 'local', metadata], // Alibaba Cloud
  ['168.63.129.16/32', 'local', metadata], // Azure
  ['192.0.0.192/32', 'local', metadata], // Oracle Cloud
  ['fd00:42::42/128', 'local', metadata], // Scaleway
  ['fd00:c1::a9fe:a9fe/128', 'local', metadata], // Oracle Cloud
  ['fd00:ec2::/32', 'local', metadata], // Amazon Web Services
  ['fd20:ce::254/128', 'local', metadata], // Google Cloud
  ['0.0.0.0/8', 'never', 'an unspecified address'],
  ['10.0.0.0/8', 'private', 'a private address'],
  ['100.64.0.0/10', 'private', 'an address inside a carrier network'],
  ['127.0.0.0/8', 'private', loopback],
  ['169.254.0.0/16', 'local', 'a link-local address'],
  ['172.16.0.0/12', 'private', 'a private address'],
  ['192.0.0.0/24', 'private', 'a protocol address'],
  ['192.0.2.0/24', 'never', 'a documentation address'],
  ['192.88.99.0/24', 'private', 'a relay address'],
  ['192.168.0.0/16', 'private', 'a private address'],
  ['198.18.0.0/15', 'private', 'a benchmarking address'],
  ['198.51.100.0/24', 'never', 'a documentation address'],
  ['203.0.113.0/24', 'never', 'a documentation address'],
  ['224.0.0.0/4', 'never', 'a multicast address'],
  ['240.0.0.0/4', 'never', 'a reserved address'],
  ['::/128', 'never', 'an unspecified address'],
  ['::1/128', 'private', loopback],
  ['64:ff9b:1::/48', 'local', 'a local translation address'],
  ['2001::/23', 'private', 'a protocol address'],
  ['2001:db8::/32', 'never', 'a documentation address'],
  ['3fff::/20', 'never', 'a documentation address'],
  ['fc00::/7', 'private', 'a unique local address'],
  ['fe80::/10', 'local', 'a link-local address'],
  ['fec0::/10', 'private', 'a site-local address'],
  ['ff00::/8', 'never', 'a multicast address'],
];

/**
 * Which private addresses a connection may lead to: all of them, none, or those of `others`, which excludes this machine.
 */
export type PrivateReach = boolean | 'others';

/**
 * Returns the reason against connecting to an IP address, phrased to follow "is". Returns undefined if no reason
 * exists.
 */
export function refusalOf(address: string, allowPrivate: PrivateReach): string | undefined {
  const family = isIP(address) === 6 ? 'ipv6' : 'ipv4';
  if (isIP(address) === 0) return 'no address';
  const inner = family === 'ipv6' ? embeddedAddress(wordsOf(address)) : undefined;
  if (inner !== undefined) return refusalOf(inner, allowPrivate);

  const tunneled = family === 'ipv6' ? tunneledAddress(wordsOf(address)) : undefined;
  const behind = tunneled === undefined ? undefined : specialOf(tunneled, 'ipv4');
  if (behind?.kind === 'local') return behind.what;
  const special = specialOf(address, family);
  if (special !== undefined) {
    const isAllowed = allowPrivate === 'others' ? special.what !== loopback : allowPrivate;
    if (!isAllowed || special.kind !== 'private') return special.what;
  } else if (family === 'ipv6' && !globalUnicast.check(address, 'ipv6')) {
    return 'a reserved address';
  }
  return allowPrivate === 'others' && isOfThisMachine(address) ? 'an address of this machine' : undefined;
}

/** Whether an address belongs to the machine that uses it. */
export const isLoopbackAddress = (address: string): boolean => /^127\.|^::1$/.test(plainForm(address));

/** Whether an address leads to this machine: a loopback address, or one of its network interfaces. */
export function isOfThisMachine(address: string): boolean {
  const plain = plainForm(address);
  if (isLoopbackAddress(plain)) return true;
  const own = Object.values(networkInterfaces()).flat();
  return own.some((found) => found !== undefined && plainForm(found.address) === plain);
}

/** One way to write an address out of many: the IPv4 address that an IPv6 address leads to, or else its shortest form. */
function plainForm(address: string): string {
  if (isIP(address) !== 6) return address;
  const words = wordsOf(address);
  return embeddedAddress(words) ?? hostnameOf(`[${words.map((word) => word.toString(16)).join(':')}]`);
}

const hostnameOf = (host: string): string => new URL(`http://${host}`).hostname.slice(1, -1);

/** Returns the reason why nothing may lead to a host. Undefined for names, and for addresses that rules can allow. */
export function neverAllowed(host: string): string | undefined {
  const address = host.replace(/^\[|\]$/g, '');
  return isIP(address) === 0 ? undefined : refusalOf(address, true);
}

/** Whether clouds tell credentials under this name to every program that asks. */
export const isMetadataName = (name: string): boolean =>
  /^(?:metadata(?:\.google\.internal|\.goog)?|instance-data(?:\.ec2\.internal)?)$/i.test(name);

const specialLists = specialAddresses.map(([subnet, kind, what]) => ({ list: listOf(subnet), kind, what }));
const specialOf = (address: string, family: 'ipv4' | 'ipv6') =>
  specialLists.find(({ list }) => list.check(address, family));
const globalUnicast = listOf('2000::/3');

function listOf(subnet: string): BlockList {
  const [address = '', bits] = subnet.split('/');
  const list = new BlockList();
  list.addSubnet(address, Number(bits), isIP(address) === 6 ? 'ipv6' : 'ipv4');
  return list;
}

/** The IPv4 address that an IPv6 address leads to: mapped, through NAT64 (RFC 6052) or through 6to4 (RFC 3056). */
function embeddedAddress(words: readonly number[]): string | undefined {
  const starts = (...prefix: number[]): boolean => prefix.every((word, at) => words[at] === word);
  if (starts(0, 0, 0, 0, 0, 0xffff) || starts(0x64, 0xff9b, 0, 0, 0, 0)) return dotted(words[6], words[7]);
  return starts(0x2002) ? dotted(words[1], words[2]) : undefined;
}

/** The IPv4 address behind a tunnel, if there is such a tunnel: ISATAP (RFC 5214), or Teredo (RFC 4380), which inverts the bits. */
function tunneledAddress([first, second, , , fifth = 0, sixth, seventh = 0, eighth = 0]: readonly number[]):
  string | undefined {
  if ((fifth & ~0x200) === 0 && sixth === 0x5efe) return dotted(seventh, eighth);
  return first === 0x2001 && second === 0 ? dotted(seventh ^ 0xffff, eighth ^ 0xffff) : undefined;
}

function dotted(high = 0, low = 0): string {
  return [high >> 8, high & 0xff, low >> 8, low & 0xff].join('.');
}

/** The eight words of an IPv6 address. The URL parser knows every way to write one. */
function wordsOf(address: string): number[] {
  const [withoutZone = ''] = address.split('%');
  const [head = '', tail] = hostnameOf(`[${withoutZone}]`).split('::');
  const parse = (part: string): number[] =>
    part === '' ? [] : part.split(':').map((word) => Number.parseInt(word, 16));
  const [before, after] = [parse(head), parse(tail ?? '')];
  return [...before, ...Array<number>(8 - before.length - after.length).fill(0), ...after];
}
