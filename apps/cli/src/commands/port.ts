import { invalid } from '@toolhive/contract/failure';
import type { FlagValues } from '../command.ts';

/** The port that a flag names, 0 for any free one; no number is a port only because it is one. */
export function portFrom(flags: FlagValues, name = 'port'): number {
  return portOf(flags.number(name) ?? 0, `--${name}`);
}

/** The same for a number that stands somewhere else. */
export function portOf(port: number, where: string): number {
  if (Number.isInteger(port) && port >= 0 && port <= 65_535) return port;
  throw invalid(`${where} takes a port, a number up to 65535, not ${port}`);
}
