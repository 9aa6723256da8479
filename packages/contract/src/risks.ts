/** The dangerous access that requires explicit consent, with descriptions. */
export const risks = {
  'mount-root': 'a mount of the whole file system',
  'mount-engine-socket': 'a mount with the socket of a container engine',
  'mount-system': 'a mount of the kernel, its devices, or system files',
  'mount-home': 'a mount of a home directory',
  'mount-credentials': 'a mount of files that contain credentials',
  'mount-programs': 'a writable mount from which other programs run commands',
  privileged: 'a container without any hardening',
  'host-network': 'the network of this machine',
  'open-network': 'access to every network of this machine, including private networks',
  'local-ports': 'ports of this machine on which other programs listen',
  'publish-ports': 'local ports on which the server itself answers',
  'allow-origins': 'web pages from other sites that can use the server',
  'send-secrets': 'stored secrets or environment variables for hosts in a run config',
} as const;

export type Risk = keyof typeof risks;

export const riskNames = Object.keys(risks) as Risk[]; // exactly these keys

const beginning = 'accepted_risks must contain ';

/** The error message for a request without the required consent. */
export const refusalOf = (required: readonly Risk[]): string => `${beginning}${required.join(', ')}`;

/** Returns the risks in such an error message, or none for other errors. */
export function risksIn(message: string): Risk[] {
  if (!message.startsWith(beginning)) return [];
  const [named = ''] = message.slice(beginning.length).split(':');
  const words = named.split(', ');
  return riskNames.filter((name) => words.includes(name));
}
