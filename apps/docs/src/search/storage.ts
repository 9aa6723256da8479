/**
 * Reports that storage is missing if the browser refuses access. DocSearch catches errors only in some calls, and
 * another error would crash the page.
 */
export function tolerateNoStorage(): void {
  try {
    // A function call, because a minifier removes a plain reference.
    Reflect.get(globalThis, 'localStorage');
  } catch {
    Object.defineProperty(globalThis, 'localStorage', { value: null, configurable: true });
  }
}
