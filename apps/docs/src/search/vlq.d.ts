/** The package has types, and does not let anybody have them. */
declare module 'vlq' {
  export function encode(values: readonly number[]): string;
  export function decode(text: string): number[];
}
