declare module 'subset-font' {
  interface Options {
    targetFormat: 'woff2';
    variationAxes: Record<string, { min: number; max: number }>;
    /** All that a font has when absent. */
    keepFeatures: readonly string[];
  }

  /** Leaves of a font what these characters need. */
  export default function subsetFont(font: Buffer, characters: string, options: Options): Promise<Buffer>;
}
