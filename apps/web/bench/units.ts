/** Bytes with one decimal: most screens have only a few kilobytes. */
export const exactKilobytes = (bytes: number): string => `${(bytes / 1000).toFixed(1)} kB`;
