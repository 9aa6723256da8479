declare module 'subset-font' {
  interface Options {
    targetFormat: 'woff2';
    variationAxes: Record<string, { min: number; max: number }>;
    /** If absent, all characters of the font. */
    keepFeatures: readonly string[];
  }

  /** Returns a font with only these characters. */
  export default function subsetFont(font: Buffer, characters: string, options: Options): Promise<Buffer>;
}
