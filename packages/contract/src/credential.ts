const credentialName =
  /(^|[_.-])(api[_.-]?key|access[_.-]?key|secret|token|password|passwd|pwd|passphrase|credentials?|private[_.-]?key|auth|authorization|pat|bearer)($|[_.-])|(apikey|token|secret|password|_key)$/i;

/** Says nothing about paths, switches, and numbers: those are settings. */
const plainValue = /^(true|false|yes|no|on|off|none|null|\d{1,6}|[./~].*|[A-Za-z]:\\.*)?$/i;

/** The beginnings of tokens that well-known services issue. */
const issued =
  /^(sk-|ghp_|gho_|ghs_|github_pat_|glpat-|xox[abpr]-|AKIA|AIza|ya29\.|eyJ[\w-]+\.|npm_|hf_|Bearer |Basic )/;

/** The same in a longer text, such as the JSON of all headers. */
const within =
  /(?:^|[\s"'=:,;{[(])(?:sk-|ghp_|gho_|ghs_|github_pat_|glpat-|xox[abpr]-|AKIA|AIza|ya29\.|npm_|hf_)[\w-]{6,}|\b(?:Bearer|Basic)\s+[^\s"'$<{]{6,}/;
const member =
  /["']?[\w-]*(?:api[_-]?key|access[_-]?key|secret|token|password|passwd|authorization|private[_-]?key)["']?\s*:\s*["'][^"'$<{]{4,}["']/i;

/** Whether a variable or header looks like a credential, by its name or its value. */
export function isCredential(name: string, value: string): boolean {
  if (plainValue.test(value)) return false;
  const text = value.slice(0, 10_000); // a part that is longer is no token
  if (within.test(text) || member.test(text)) return true;
  return issued.test(value) || credentialName.test(name) || /:\/\/[^/\s:@]+:[^/\s@]+@/.test(value);
}
