import { ThvError } from '@toolhive/contract/failure';
import type { Completion } from './command.ts';
import { namesOf } from './look-up.ts';
import type { Invocation } from './program.ts';
import { nearest } from '@toolhive/contract/nearest';

/** The longest acceptable delay for a suggestion. */
const limitMs = 1_000;

/**
 * Adds a suggestion to a not-found error if the typed name resembles an existing one. Uses the completion kinds of
 * arguments and flags.
 */
export async function withNearestName(thrown: unknown, call: Invocation): Promise<unknown> {
  if (!(thrown instanceof ThvError) || thrown.kind !== 'not-found') return thrown;
  for (const { what, typed } of namesTyped(call)) {
    if (!thrown.message.includes(typed)) continue;
    const other = await otherMeaning(call.command.path, typed);
    if (other !== undefined) return new ThvError(thrown.kind, thrown.message, { hint: other, cause: thrown });
    const known = await namesOf(what, AbortSignal.timeout(limitMs)).catch(() => []); // without a suggestion
    const meant = nearest(
      typed,
      known.map(({ word }) => word),
    );
    if (meant === undefined || meant === typed) continue;
    return new ThvError(thrown.kind, thrown.message, { hint: `did you mean ${meant}?`, cause: thrown });
  }
  return thrown;
}

/** In another version, the word was a command: `thv upgrade check`. */
async function otherMeaning(path: string, typed: string): Promise<string | undefined> {
  const { otherCommands } = await import('./commands/other-versions.ts');
  const words = `${path} ${typed}`;
  return Object.hasOwn(otherCommands, words) ? otherCommands[words] : undefined;
}

function namesTyped({ command, arguments: words, flags }: Invocation): { what: Completion; typed: string }[] {
  const declared = command.arguments ?? [];
  const positional = words.map((typed, index) => ({
    what: (declared[index] ?? declared.at(-1))?.completes,
    typed,
  }));
  const flagged = (command.flags ?? []).flatMap(({ name, completes }) =>
    flags.isGiven(name)
      ? [flags.value(name) ?? []].flat().map((typed) => ({ what: completes, typed: String(typed) }))
      : [],
  );
  return [...positional, ...flagged].flatMap(({ what, typed }) =>
    what === undefined || typed === '' ? [] : [{ what, typed }],
  );
}
