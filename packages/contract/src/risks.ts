/** What a user has to accept explicitly before a server gets it, and what that is. */
export const risks = {
  'mount-root': 'a mount of the whole file system',
  'mount-engine-socket': 'a mount with the socket of a container engine',
  'mount-system': 'a mount of the kernel, its devices, or system files',
  'mount-home': 'a mount of a home directory',
  'mount-credentials': 'a mount of a directory that contains credentials',
  privileged: 'a container without any hardening',
  'host-network': 'the network of this machine',
  'open-network': 'everything that this machine reaches, private networks included',
  'send-secrets': 'stored secrets or environment variables for hosts that a run config names',
} as const;

export type Risk = keyof typeof risks;

export const riskNames = Object.keys(risks) as Risk[]; // exactly these keys

const beginning = 'accepted_risks must contain ';

/** How the refusal of a request begins that has to accept risks. */
export const refusalOf = (required: readonly Risk[]): string => `${beginning}${required.join(', ')}`;

/** The risks that a refusal names; none if it is about something else. */
export function risksIn(message: string): Risk[] {
  if (!message.startsWith(beginning)) return [];
  const [named = ''] = message.slice(beginning.length).split(':');
  const words = named.split(', ');
  return riskNames.filter((name) => words.includes(name));
}
