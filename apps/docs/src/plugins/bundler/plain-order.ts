const ordered = 'a[0].localeCompare(b[0])';

/**
 * Sorts names in a theme file by character codes. The theme needs only some order, and the first comparison with
 * language rules takes forty milliseconds in a browser.
 */
export default function plainOrder(source: string): string {
  if (!source.includes(ordered)) throw new Error(`the theme orders nothing by ${ordered} any more`);
  return source.replace(ordered, '(a[0] < b[0] ? -1 : 1)');
}
