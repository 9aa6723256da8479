/** Deviations from the protocol that ToolHive understands, as phrases that continue "the server". */
const tolerances = {
  controlBytes: 'writes byte order marks or control sequences around its messages',
  json: 'writes NaN, Infinity, or control characters, which JSON does not have, so clients get null or the escaped character',
  text: 'writes other text on the lines of its messages',
  lines: 'writes several messages on one line',
  split: 'writes messages on several lines',
  lineEnd: 'does not end its messages with line breaks, so each is read only after a short silence',
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
  progress: 'reports progress of requests that are over or did not ask for reports, which clients do not get',
  cursor: 'names the same page of a list again as the next page',
  schema: 'lists tools without "type": "object" in their input schemas, which ToolHive adds',
  wrongValue: 'sends values that clients refuse, which ToolHive corrects or leaves out',
  unreadable: 'lists things that clients refuse, which ToolHive leaves out',
} as const satisfies Record<string, string>;

/** One kind of deviation. */
export type Tolerance = keyof typeof tolerances;

/** The deviations that were seen, each with its first example, if an example says more than the deviation. */
export type Tolerated = ReadonlyMap<Tolerance, string | undefined>;

/** The deviations as sentences. */
export function describeTolerances(shown: Iterable<readonly [Tolerance, string | undefined]>): string[] {
  return [...shown].map(([tolerance, example]) => {
    const deviation = `the server ${tolerances[tolerance]}`;
    return example === undefined ? deviation : `${deviation}, for example ${example}`;
  });
}
