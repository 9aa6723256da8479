import { invalid } from '@toolhive/contract/failure';
import type { CommandCall } from './command.ts';
import { timeFrom } from './time-flag.ts';

/** The part of a list that a user asks for. */
export interface Part {
  search: string | undefined;
  since: string | undefined;
  until: string | undefined;
}

/** Reads `--search`, `--since`, and `--until`. Throws `invalid` for those that do not work with `--follow`. */
export function partFrom(flags: CommandCall['flags'], notFollowed: readonly (keyof Part)[]): Part {
  const unfit = notFollowed.find((flag) => flags.has('follow') && flags.isGiven(flag));
  if (unfit !== undefined)
    throw invalid(`--follow and --${unfit} cannot be used together`, { hint: 'omit one of them' });
  return {
    search: flags.text('search'),
    since: timeFrom(flags.text('since'), 'since'),
    until: timeFrom(flags.text('until'), 'until'),
  };
}

/** Whether a user asks for less than everything. */
export function isPart(part: Part): boolean {
  return Object.values(part).some((given) => given !== undefined);
}
