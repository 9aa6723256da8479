/** Foreign data as JSON with line breaks. Data that is nested more deeply than the browser can write has a sentence instead. */
export function asJson(value: unknown): string {
  try {
    return JSON.stringify(value, null, 2) ?? '';
  } catch {
    return 'This data is nested too deeply to be shown.';
  }
}
