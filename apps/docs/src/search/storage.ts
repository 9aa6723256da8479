/**
 * Where a browser refuses even to be asked for storage, says that there is none. DocSearch expects no refusal outside of
 * the places that keep something, and would take the page down with it.
 */
export function tolerateNoStorage(): void {
  try {
    // By a call: merely to name it is nothing to a minifier, which leaves that out.
    Reflect.get(globalThis, 'localStorage');
  } catch {
    Object.defineProperty(globalThis, 'localStorage', { value: null, configurable: true });
  }
}
