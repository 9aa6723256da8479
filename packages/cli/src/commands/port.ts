import { invalid } from '@toolhive/contract/failure';
import type { FlagValues } from '../command.ts';

/** The port in a flag. 0 selects a free port. Other numbers are refused. */
export function portFrom(flags: FlagValues, name = 'port'): number {
  return portOf(flags.number(name) ?? 0, `--${name}`);
}

/** The same for a number that stands somewhere else. */
export function portOf(port: number, where: string): number {
  if (Number.isInteger(port) && port >= 0 && port <= 65_535) return port;
  throw invalid(`${where} takes a port, a number up to 65535, not ${port}`);
}
