import type { CommandCall } from '../../command.ts';
import { complete } from '../../complete.ts';
import { namesOf } from '../../look-up.ts';
import { oneLine } from '../../out.ts';
import { program } from '../commands.ts';

/** The longest acceptable delay after a key press. */
const limitMs = 1_000;
const widestDescription = 80;

/** Prints a shell's completions: the kind, and then one line per item, with its description after a tab. */
export async function run({ rest, out, signal }: CommandCall): Promise<void> {
  const limited = AbortSignal.any([signal, AbortSignal.timeout(limitMs)]);
  const offer = await complete(program, rest, (what) => namesOf(what, limited).catch(() => [])); // then there are none to offer
  out.result(offer, (page) => {
    page.line(offer.kind);
    if (offer.kind !== 'words') return;
    for (const { word, description = '' } of offer.words) {
      // A shell would read a name with a space or a control character as several words.
      if (/^[\w.@:/=+-]+$/.test(word)) page.line(`${word}\t${oneLine(description, widestDescription)}`);
    }
  });
}
