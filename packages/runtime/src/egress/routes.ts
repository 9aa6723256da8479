import { isIP } from 'node:net';
import { networkInterfaces } from 'node:os';
import { specialAddresses } from '../addresses.ts';
import type { OpenNetwork } from '../runtime.ts';

/** Where slirp4netns takes traffic of a sandbox. */
const WAY_OUT = 'via 10.0.2.2 dev tap0';

/**
 * Returns the `ip -batch` input for a sandbox with open network access. The routes exclude this machine and all
 * private addresses except the granted ones. Later lines replace earlier lines for the same addresses.
 */
export function restrictingRoutes({ privateAddresses = [] }: OpenNetwork, own = ownAddresses()): string[] {
  if (privateAddresses === 'all') return [loopbackRoute];
  const granted = privateAddresses
    .flatMap((text) => subnetOf(text) ?? [])
    .filter((subnet) => !localSubnets.some((local) => contains(local, subnet)));
  const refused = privateSubnets.filter((subnet) => !granted.some((grant) => contains(grant, subnet)));
  return [
    ...refused.map((subnet) => `route replace unreachable ${format(subnet)}`),
    ...granted.map((subnet) => `route replace ${format(subnet)} ${WAY_OUT}`),
    ...localSubnets.map((subnet) => `route replace unreachable ${format(subnet)}`),
    ...own.map((address) => `route replace unreachable ${address}/32`),
    loopbackRoute,
  ];
}

/**
 * A socket that is bound to the device looks for a loopback address behind the device, where slirp4netns would dial
 * the machine's loopback. This route ends such a lookup. Ordinary connections find the server's own loopback first.
 */
const loopbackRoute = 'route replace blackhole 127.0.0.0/8';

interface Subnet {
  base: number;
  bits: number;
}

/** The IPv4 subnet of a host pattern. Undefined for other patterns. slirp4netns forwards only IPv4. */
function subnetOf(pattern: string): Subnet | undefined {
  const [address = '', length = '32'] = pattern.split('/');
  if (isIP(address) !== 4 || !/^\d{1,2}$/.test(length)) return undefined;
  const bits = Number(length);
  return { base: masked(numberOf(address), bits), bits };
}

const subnetsOf = (wanted: 'private' | 'local'): Subnet[] =>
  specialAddresses.flatMap(([subnet, kind]) => (kind === wanted ? (subnetOf(subnet) ?? []) : []));
const privateSubnets = subnetsOf('private');
/** No grant leads there. */
const localSubnets = subnetsOf('local');

const contains = (outer: Subnet, inner: Subnet): boolean =>
  outer.bits <= inner.bits && masked(inner.base, outer.bits) === outer.base;

function ownAddresses(): string[] {
  const addresses = Object.values(networkInterfaces()).flatMap((interfaces) => interfaces ?? []);
  return addresses.flatMap(({ address, family }) => (family === 'IPv4' ? address : []));
}

function numberOf(address: string): number {
  return address.split('.').reduce((number, part) => number * 256 + Number(part), 0);
}

function masked(number: number, bits: number): number {
  return number - (number % 2 ** (32 - bits));
}

function format({ base, bits }: Subnet): string {
  return `${[24, 16, 8, 0].map((shift) => (base >>> shift) & 255).join('.')}/${bits}`;
}
