import { BlockList, isIP } from 'node:net';
import { specialAddresses } from '@toolhive/runtime/addresses';

/** The `ipBlock` of a NetworkPolicy. */
export interface AddressBlock {
  cidr: string;
  except?: string[];
}

/** The IPv6 blocks behind which IPv4 addresses are, with the text around the two words of such an address. */
const translations = [
  { block: '64:ff9b::/96', bits: 96, before: '64:ff9b::', after: '' }, // NAT64 (RFC 6052)
  { block: '2002::/16', bits: 16, before: '2002:', after: '::' }, // 6to4 (RFC 3056)
];

const notPublic = [...specialAddresses.map(([block]) => block), ...translations.map(({ block }) => block)];

/** The public addresses, as the proxy knows them. */
export const publicBlocks: readonly AddressBlock[] = ['0.0.0.0/0', '2000::/3'].map((cidr) => {
  return { cidr, except: outermost(notPublic.filter((block) => contains(cidr, block))) };
});

/** The neighbors on the same cable, and the metadata services of clouds, in all their forms. Nothing allows them. */
const local = specialAddresses.flatMap(([block, kind]) =>
  kind === 'local' ? [block, ...translations.flatMap((form) => translate(block, form))] : [],
);

/** The addresses of a host in a profile that nothing allows. Undefined if the host is a name, or has other addresses. */
export function neverListed(host: string): string | undefined {
  const cidr = cidrOf(host);
  return cidr === undefined ? undefined : local.find((block) => contains(block, cidr));
}

/** The addresses that a host in a profile allows. Undefined for a name. */
export function listedBlock(host: string): AddressBlock | undefined {
  const cidr = cidrOf(host);
  if (cidr === undefined) return undefined;
  const except = outermost(local.filter((block) => contains(cidr, block)));
  return except.length === 0 ? { cidr } : { cidr, except };
}

function cidrOf(host: string): string | undefined {
  const [address = ''] = host.split('/');
  if (isIP(address) === 0) return undefined;
  return host.includes('/') ? host : `${host}/${isIP(host) === 6 ? 128 : 32}`;
}

/** The IPv6 form of an IPv4 block. Empty for an IPv6 block. */
function translate(block: string, { bits, before, after }: (typeof translations)[number]): string[] {
  const [address, ownBits] = partsOf(block);
  if (isIP(address) !== 4) return [];
  const [a = 0, b = 0, c = 0, d = 0] = address.split('.').map(Number);
  const words = [a * 256 + b, c * 256 + d].map((word) => word.toString(16)).join(':');
  const { hostname } = new URL(`http://[${before}${words}${after}]`); // the shortest form, which Kubernetes wants
  return [`${hostname.slice(1, -1)}/${bits + ownBits}`];
}

/** The blocks that no other one contains. */
function outermost(blocks: readonly string[]): string[] {
  return blocks.filter((block) => !blocks.some((other) => other !== block && contains(other, block)));
}

/** Whether the second block is a part of the first. */
function contains(outer: string, inner: string): boolean {
  const [base, bits] = partsOf(outer);
  const [address, innerBits] = partsOf(inner);
  if (isIP(base) !== isIP(address) || innerBits < bits) return false;
  const family = isIP(base) === 6 ? 'ipv6' : 'ipv4';
  const list = new BlockList();
  list.addSubnet(base, bits, family);
  return list.check(address, family);
}

function partsOf(block: string): [address: string, bits: number] {
  const [address = '', bits] = block.split('/');
  return [address, Number(bits)];
}
