/** The package does not export its types. */
declare module 'vlq' {
  export function encode(values: readonly number[]): string;
  export function decode(text: string): number[];
}
