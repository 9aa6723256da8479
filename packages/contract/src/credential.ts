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

const mask = '***';

const placeholder = /^\$?\{[^{}"]*\}$/;

function isShown(name: string, value: string): boolean {
  return placeholder.test(value) || !isCredential(name, value);
}

/** Arguments for people. A terminal or a log keeps its output, so no credential appears. */
export function withoutCredentials(args: readonly string[]): string[] {
  return args.map((arg, index) => {
    const [, flag = ''] = /^--?([\w-]+)$/.exec(args[index - 1] ?? '') ?? [];
    if (flag !== '' && !isShown(flag, arg)) return arg.replace(/^([\w-]+:\s*)?.*$/s, `$1${mask}`);
    const [, start = '', name = '', value = arg] = /^((?:--?)?([\w.-]+)\s*[=:]\s*)(.*)$/s.exec(arg) ?? [];
    return isShown(name, value) ? arg : `${start}${mask}`;
  });
}

/** A URL for people, without credentials before its host, in its path, and in its parameters. */
export function urlWithoutCredentials(url: string): string {
  return url
    .replace(/^(\w+:\/\/)[^/@]*@/, `$1${mask}@`)
    .replaceAll(/\/(?=[\w-]*\d)(?=[\w-]*[A-Za-z])[\w-]{20,}(?=[/?#]|$)/g, `/${mask}`)
    .replaceAll(/([?&])([\w.-]+)=([^&#]*)/g, (whole: string, start: string, name: string, value: string) =>
      placeholder.test(value) || (isShown(name, value) && !/(?:key|sig|code)$/i.test(name))
        ? whole
        : `${start}${name}=${mask}`,
    );
}
