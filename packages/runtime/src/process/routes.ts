import { isIP } from 'node:net';
import { networkInterfaces } from 'node:os';
import { specialAddresses } from '../addresses.ts';
import type { OpenNetwork } from '../runtime.ts';

/** Where slirp4netns takes traffic of a sandbox. */
const WAY_OUT = 'via 10.0.2.2 dev tap0';

/**
 * Returns what `ip -batch` is told in the namespace of a sandbox with an open network, so that it reaches no private
 * addresses other than the granted ones, and never this machine. Later lines replace earlier ones for the same addresses.
 */
export function fencingRoutes({ privateAddresses = [] }: OpenNetwork, own = ownAddresses()): string[] {
  if (privateAddresses === 'all') return [fenceOfLoopback];
  const granted = privateAddresses.flatMap((text) => subnetOf(text) ?? []);
  const fenced = privateSubnets.filter((subnet) => !granted.some((grant) => contains(grant, subnet)));
  return [
    ...fenced.map((subnet) => `route replace unreachable ${format(subnet)}`),
    ...granted.map((subnet) => `route replace ${format(subnet)} ${WAY_OUT}`),
    ...own.map((address) => `route replace unreachable ${address}/32`),
    fenceOfLoopback,
  ];
}

/**
 * A socket that is bound to the device looks for a loopback address behind it, where slirp4netns would dial that of the
 * machine: for such a search the way ends here. Ordinary dials find the server's own loopback first.
 */
const fenceOfLoopback = 'route replace blackhole 127.0.0.0/8';

interface Subnet {
  base: number;
  bits: number;
}

/** The IPv4 subnet that a pattern of hosts names; undefined for other patterns. slirp4netns passes on IPv4 alone. */
function subnetOf(pattern: string): Subnet | undefined {
  const [address = '', length = '32'] = pattern.split('/');
  if (isIP(address) !== 4 || !/^\d{1,2}$/.test(length)) return undefined;
  const bits = Number(length);
  return { base: masked(numberOf(address), bits), bits };
}

const privateSubnets = specialAddresses.flatMap(([subnet, kind]) =>
  kind === 'private' ? (subnetOf(subnet) ?? []) : [],
);

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
