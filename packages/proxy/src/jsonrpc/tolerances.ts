/** Deviations from the protocol that ToolHive understands, as phrases that continue "the server". */
const tolerances = {
  controlBytes: 'writes byte order marks or control sequences around its messages',
  text: 'writes other text on the lines of its messages',
  lines: 'writes several messages on one line',
  batch: 'sends several messages in an array',
  version: 'does not write "jsonrpc": "2.0"',
  nothing: 'writes null or empty values for members that it should leave out',
  errorText: 'writes an error as text instead of an object',
  id: 'writes the numbers that identify requests as text',
  mediaType: 'sends messages with a wrong or missing media type',
  eventStream: 'sends a message as JSON that it announces as an event stream',
  sessionEnd: 'reports the end of a session with something other than status 404',
  redirect: 'redirects requests for its endpoint, so every start takes longer',
  address: 'names an address that only the server itself can reach',
  cursor: 'names the same page of a list again as the next page',
} as const satisfies Record<string, string>;

/** One kind of deviation. */
export type Tolerance = keyof typeof tolerances;

/** The deviations as sentences. */
export function describeTolerances(shown: Iterable<Tolerance>): string[] {
  return [...shown].map((tolerance) => `the server ${tolerances[tolerance]}`);
}
