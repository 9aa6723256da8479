import type { CommandCall } from '../../command.ts';
import { complete } from '../../complete.ts';
import { namesOf } from '../../look-up.ts';
import { oneLine } from '../../out.ts';
import { program } from '../commands.ts';

/** Nobody waits longer for a key that they have pressed. */
const limitMs = 1_000;
const widestDescription = 80;

/** Prints what a shell is to offer: what kind of thing it is, and then a line for each, with what it is behind a tab. */
export async function run({ rest, out, signal }: CommandCall): Promise<void> {
  const limited = AbortSignal.any([signal, AbortSignal.timeout(limitMs)]);
  const offer = await complete(program, rest, (what) => namesOf(what, limited).catch(() => [])); // then there are none to offer
  out.result(offer, (page) => {
    page.line(offer.kind);
    if (offer.kind !== 'words') return;
    for (const { word, description = '' } of offer.words) {
      // A name with a blank or a control character in it would be more than one word to a shell.
      if (/^[\w.@:/=+-]+$/.test(word)) page.line(`${word}\t${oneLine(description, widestDescription)}`);
    }
  });
}
