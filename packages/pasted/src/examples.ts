import { existsSync } from 'node:fs';

/**
 * Whether a value is an example that the user has to replace. `doubtful` values may be real, so they are kept, and the
 * user decides. Only a value as a whole can be an example: JSON, lists, and sentences never are.
 */
export function exampleIn(name: string, value: string): 'example' | 'doubtful' | undefined {
  const text = value.trim();
  if (text.length > 100 || isJson(text)) return undefined;
  if (text === name && /[_-]/.test(name)) return 'example';
  if (filler.test(text) || /^<{1,2}[^<>]+>{1,2}$/.test(text)) return 'example';
  if (/^\{\{\s*[A-Za-z_][\w.-]*\s*\}\}$/.test(text)) return 'example'; // of a template
  const inner = bracketed
    .exec(text)
    ?.slice(1)
    .find((part) => part !== undefined);
  if (inner !== undefined) return isRequest(inner) ? 'example' : 'doubtful';
  if (isRequest(text)) return 'example';
  if (/^\$?COPILOT_MCP_\w+$/.test(text)) return 'example'; // the name of a secret
  if (isExamplePath(text)) return 'example';
  if (exampleHosts(text).length > 0) return 'doubtful';
  if (
    /^(?:op|pass|bw|vault|keyring|keychain|ref\+[a-z]+|awssecretsmanager|gcpsecretmanager):\/\/\S+$/.test(
      text,
    )
  )
    return 'example'; // a secret of another program
  if (/^\$\(.*\)$/.test(text)) return 'example'; // the output of a program, which Crush and shells replace
  if (/^\$(?:env:)?[A-Z_][A-Z0-9_]*$/.test(text)) return 'doubtful'; // some clients replace it, others do not
  return /^your[-_ ]|[-_ ]here$|^replace[-_ ]/i.test(text) || /^[^<>]*<[\w -]+>[^<>]*$/.test(text)
    ? 'doubtful'
    : undefined;
}

/** `xxx`, `xxxx xxxx`, `sk-...`, `ghp_xxxxxxxx`, `change-me`. */
const filler =
  /^(?:(?:[a-z]{2,10}[-_]){0,3}(?:x{3,}(?:[- ]x{3,})*|\.{3}|…|\*{3,})|change[-_ ]?me|replace[-_ ]?me|fill[-_ ]?me|to[-_ ]?do|tbd|placeholder)$/i;

/** `[YOUR_KEY]`, `{api_key}`, `{{ token }}`, `%TOKEN%`. */
const bracketed = /^(?:\[([\w -]+)\]|\{{1,2}\s*([\w -]+?)\s*\}{1,2}|%([\w-]+)%)$/;

/** What READMEs ask for. The names of people and companies are none of these. */
const things =
  /^(?:api|access|auth|client|user|secret|server|base|host)?(?:key|token|secret|password|passwd|passphrase|credential|pat|dsn|id|name|username|email|mail|url|uri|endpoint|host|hostname|api|here)s?$/i;

/** With which the keys of some services begin: `ghp_your_token`. */
const tokenPrefix =
  /^(?:(?:sk|pk|rk)(?:[-_](?:test|live|ant|proj|or))?|gh[opsu]|github_pat|glpat|xox[abp]|xapp|pat|tvly|fc|ntn|lin_api|figd|whsec|pplx|sbp|hf|gsk|nvapi|shpat)[-_](?=your[-_])/i;

/** `YOUR_API_KEY`, `yourToken`, `your-token-here`, `INSERT_KEY`, `replace with your key`, `API_KEY_HERE`. */
function isRequest(given: string): boolean {
  const text = given.replace(tokenPrefix, '');
  if (!/^[\w .-]+$/.test(text)) return false;
  if (/^YOUR_[A-Z0-9_]+$/.test(text)) return true;
  const words = text.split(/[-_ .]+|(?<=[a-z])(?=[A-Z])/).filter((word) => word !== '');
  const [first = ''] = words;
  const [before = '', last = ''] = words.slice(-2);
  if (words.length < 2 || words.length > 8 || !things.test(last)) return false;
  return (
    /^(?:your|insert|enter|paste|put|replace)$/i.test(first) || (/^here$/i.test(last) && things.test(before))
  );
}

/**
 * Whether a text is a README's path, and no path on this machine: `/path/to/server`, `<your path>/index.js`,
 * `/ABSOLUTE_PATH_TO/server.py`, `/Users/YOUR_USERNAME/notes`.
 */
export function isExamplePath(text: string): boolean {
  if (text.length > 300 || text.includes('://')) return false;
  const isPath = /^(?:[/\\~.$%]|[A-Za-z]:[\\/])/.test(text);
  const parts = isPath ? text.split(/[/\\]/) : [];
  const isWritten =
    pathTo.test(text) || ofUser.test(text) || parts.some((part) => isRequest(part) || /<[^<>]+>/.test(part));
  return isWritten && !existsSync(text);
}

const pathTo = /^(?:\S*[/\\_-])?path[/_-]to(?:[/\\_-]|$)/i;
/** The home directory in a README. */
const ofUser =
  /^(?:[A-Za-z]:)?[/\\](?:Users|home)[/\\](?:your[-_ ]?(?:user|name|username)|username|<[^<>]+>)(?=[/\\]|$)/i;

/** Host labels that the reader replaces: `your-org.example.com`, `yourdomain.com`. */
function exampleHosts(text: string): string[] {
  const [, host = ''] = /^https?:\/\/([\w.-]{1,253})(?=[/:?#]|$)/i.exec(text) ?? [];
  return host.split('.').filter((label) => exampleLabel.test(label));
}

const exampleLabel =
  /^your(?:-[\w-]+|(?:site|domain|company|org|organization|host|server|store|shop|instance|tenant|app|workspace|name|username|subdomain))$/i;

/** `xxx`, `sk-xxxx`. */
const crossedOut = /^(?:[a-z]{2,10}[-_]){0,3}x{3,}(?:-x{3,})*$/i;

/** The examples that a word of a command line or a part of a URL is, or that it contains after an equals sign. */
export function examplesInWord(word: string): string[] {
  if (word.length > 300) return [];
  const value = word.replace(/^-{0,2}[\w.-]{1,100}=/, '').trim();
  const [template] = /^\{\{\s*[A-Za-z_][\w.-]{0,60}\s*\}\}(?=$|[\\/])/.exec(value) ?? [];
  if (template !== undefined) return [template];
  if (isExamplePath(value)) return [value];
  const isExample =
    value.length <= 100 && (/^<[^<>]+>$/.test(value) || isRequest(bare(value)) || crossedOut.test(value));
  return isExample ? [value] : [];
}

/** The examples in a URL: a part of its host, path, or query, and words in angle brackets anywhere. */
export function examplesInUrl(url: string): string[] {
  const words = [...url.matchAll(/<[\w .-]{1,60}>/g)].map(([word]) => word);
  const rest = url.replaceAll(/<[\w .-]{1,60}>/g, '1').replace(/^[a-z]+:\/\/[^/?#]*/i, '');
  const parts = rest.split(/[/?&#=:@]/).flatMap(examplesInWord);
  return [...new Set([...words, ...exampleHosts(url), ...parts])];
}

function bare(text: string): string {
  return (
    bracketed
      .exec(text)
      ?.slice(1)
      .find((part) => part !== undefined) ?? text
  );
}

function isJson(text: string): boolean {
  if (!/^[[{"]/.test(text)) return false;
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
