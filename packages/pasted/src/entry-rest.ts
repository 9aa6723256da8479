/**
 * The entry fields that the server could depend on, and that ToolHive does not have. Others, such as icons and
 * timeouts, only matter to the client.
 */
export function unreadFields(entry: Readonly<Record<string, unknown>>, read: ReadonlySet<string>): string[] {
  return Object.entries(entry).flatMap(([key, value]) =>
    !read.has(key) && isName.test(key) && matters.test(key) && !ofClient.test(key) && isFilled(value)
      ? [key]
      : [],
  );
}

/** The name in a note comes from a foreign document. */
const isName = /^[\w.-]{1,40}$/;
const matters =
  /auth|token|secret|password|credential|key|cert|tls|ssl|verify|header|cookie|proxy|tool|filter|sandbox|env|variable|vars$|param|volume|mount|network|image|resource|scope|hosts$|^user$/i;
/** Approvals, deadlines, and texts, and settings that a server announces itself. */
const ofClient =
  /timeout|delay|interval|approv|alwaysallow|permission|instructions|description|requires_?oauth|keepalive|tokenizer|(?:envs?|tools?)[-_]?(?:comment|note|count|prefix)/i;

function isFilled(value: unknown): boolean {
  if (typeof value === 'object' && value !== null) return Object.keys(value).length > 0;
  return value !== null && value !== undefined && value !== '' && value !== false;
}
