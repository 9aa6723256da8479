import subsetFont from 'subset-font';

/**
 * The characters that a font keeps, by the end of its address. `fonts.css` has the same ranges.
 *
 * - `?common`: the characters of English pages and the arrows of the theme. Pages with others also load the whole font.
 * - `?latin`: all of a file for Latin.
 */
export const characters: Record<string, string> = {
  '?common': `${range(0x20, 0x7e)}\u00a0©«µ·»×–—‘’“”•…→`,
  '?latin': `${range(0x20, 0xff)}ıŒœ${range(0x2000, 0x206f)}€™←↑→↓−`,
};

/** Keeps the used weights and removes ligatures, which change the look of code and take four of ten kilobytes. */
export default async function subset(this: LoaderContext, font: Buffer): Promise<void> {
  const done = this.async();
  const options = {
    targetFormat: 'woff2',
    variationAxes: { wght: { min: 400, max: 700 } },
    keepFeatures: ['kern'],
  } as const;
  try {
    done(null, await subsetFont(font, characters[this.resourceQuery] ?? '', options));
  } catch (error) {
    done(error as Error); // the library throws nothing else
  }
}

/** The bundler passes fonts as bytes. */
export const raw = true;

/** The used part of the bundler context. */
interface LoaderContext {
  resourceQuery: string;
  async(): (error: Error | null, font?: Buffer) => void;
}

function range(first: number, last: number): string {
  return String.fromCodePoint(...Array.from({ length: last - first + 1 }, (_, index) => first + index));
}
