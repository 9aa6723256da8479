import { type EmbeddedProgram, bundleProgram } from './embedded-bundle.ts';

const texts = new Map<EmbeddedProgram, string>();

/**
 * Returns the text of a program that runs outside the daemon. A build replaces this module by one that contains the texts
 * (`scripts/embedded-programs.ts`).
 */
export function embeddedProgram(file: EmbeddedProgram): string {
  const text = texts.get(file) ?? bundleProgram(file).text;
  texts.set(file, text);
  return text;
}
