import type { PinFinding } from '@toolhive/contract/tool-pins';

/** A suspicious feature in the definition of a tool, a prompt, a resource, or the server. */
export interface FindingRule {
  id: string;
  severity: PinFinding['severity'];
  /** Continues "its text" or "its name". */
  finds: string;
  /**
   * The searched text. `name`: the item's name. `text`: all its strings. `words`: the strings after compatibility
   * decomposition and without invisible characters, so that neither hides words.
   */
  where: 'name' | 'text' | 'words';
  /** Takes time in proportion to the text: every repetition is bounded or followed by nothing. */
  pattern: RegExp;
}

/** Letters of other scripts that look like Latin ones (Unicode Technical Standard 39, confusables). */
const lookalikes = 'асеһіјӏорԛѕхуԁԝүАВЕНІЈКМОРЅТХУԌԜΑΒΕΖΗΙΚΜΝΟΡΤΥΧοαινυρχ';

/** Names of clients' built-in tools. */
const builtInTools = [
  'bash|read|write|edit|multi_?edit|glob|grep|ls|task|web_?fetch|web_?search|todo_?write|notebook_?edit|exit_plan_mode',
  'read_file|write_file|edit_file|list_dir|codebase_search|grep_search|file_search|run_terminal_cmd|delete_file',
  'str_replace_editor|str_replace_based_edit_tool|computer|text_editor|code_interpreter|apply_patch|shell|execute_command',
  'run_in_terminal|attempt_completion|ask_followup_question|use_mcp_tool',
].join('|');

/** Each rule is tested with a published attack. A finding blocks nothing. */
export const findingRules: readonly FindingRule[] = [
  {
    id: 'instruction-tag',
    severity: 'high',
    finds: 'contains a tag that models take for instructions',
    where: 'words',
    pattern:
      /<\/?[ ]{0,4}(?:important|system|instructions?|secret|hidden|override|admin|assistant)\b[^<>]{0,40}>/i,
  },
  {
    id: 'override-instructions',
    severity: 'high',
    finds: 'tells models to ignore their instructions',
    where: 'words',
    pattern:
      /\b(?:ignore|disregard|forget|override|bypass)\b[^.\n]{0,40}\b(?:previous|prior|above|earlier|all|other|system|safety)\b[^.\n]{0,30}\b(?:instructions?|prompts?|rules|guidelines|directives?)\b/i,
  },
  {
    id: 'hide-from-user',
    severity: 'high',
    finds: 'tells models to hide something from the user',
    where: 'words',
    pattern:
      /\b(?:do not|don['’]t|never|without|must not|avoid)\s{1,3}(?:tell|inform|mention|notify|reveal|disclos|alert)[a-z]{0,4}\b[^.\n]{0,120}\b(?:user|human|person)\b|\b(?:hide|conceal|keep)\b[^.\n]{0,30}\b(?:from the user|secret from)\b/i,
  },
  {
    id: 'sensitive-file',
    severity: 'high',
    finds: 'names a file that contains credentials',
    where: 'words',
    pattern:
      /(?:~|\$HOME|\/home\/[\w-]{1,32}|\/root)\/\.(?:ssh|aws|gnupg|kube|docker|netrc|npmrc|cursor|config\/gcloud|git-credentials)\b|(?<![a-z])id_(?:rsa|ed25519|ecdsa)\b|\/etc\/shadow\b|\bclaude_desktop_config\.json\b|\.cursor\/mcp\.json\b/i,
  },
  {
    id: 'changes-other-tools',
    severity: 'high',
    finds: 'tells models to use another tool differently',
    where: 'words',
    pattern:
      /\bwhen(?:ever)?\b[^.\n]{0,60}\b(?:is|are|gets) (?:invoked|called|used|available)\b[^.\n]{0,80}\b(?:change|replace|redirect|instead|must (?:send|use|add|be))\b/i,
  },
  {
    id: 'forced-order',
    severity: 'low',
    finds: 'tells models to call it before or with every other tool',
    where: 'words',
    pattern:
      /\b(?:before|prior to|whenever|each time)\s{1,3}(?:you |using |calling |invoking |running |use |call |execut\w{1,4} ){1,3}(?:any|all|every)\b[^.\n]{0,30}\b(?:tools?|commands?|function)\b|\b(?:prefix|prepend|append)\b[^.\n]{0,20}\b(?:all|every)\b[^.\n]{0,30}\bcommands?\b/i,
  },
  {
    id: 'shell-command',
    severity: 'medium',
    finds: 'contains a dangerous shell command',
    where: 'words',
    pattern:
      /\b(?:curl|wget)\b[^|\n]{0,200}\|\s{0,3}(?:ba|z)?sh\b|\bchmod\s{1,3}-R\s{1,3}[0-7]{3,4}|\brm\s{1,3}-rf\s{1,3}[~/]|\bnc\s{1,3}-e\b/i,
  },
  {
    id: 'tag-characters',
    severity: 'high',
    finds: 'contains Unicode tag characters, which models read and people cannot see',
    where: 'text',
    // A few of them behind a black flag are the flag of a region.
    pattern: /(?<![\u{1f3f4}\u{e0000}-\u{e007f}])[\u{e0000}-\u{e007f}]|[\u{e0000}-\u{e007f}]{8}/u,
  },
  {
    id: 'zero-width',
    severity: 'high',
    finds: 'contains characters without a width, which people cannot see',
    where: 'text',
    // Joiners belong to some scripts and to emoji, selectors to emoji.
    pattern:
      /[\u200b\u2060-\u2064\ufeff\u180e\u00ad\u115f\u1160\u3164]|\u034f|(?<=[\x20-\x7e])[\u200c\u200d]|[\ufe00-\ufe0f\u{e0100}-\u{e01ef}]{2}/u,
  },
  {
    id: 'bidirectional-control',
    severity: 'high',
    finds: 'contains characters that change the direction in which text is shown',
    where: 'text',
    pattern: /[\u202a-\u202e\u2066-\u2069]/,
  },
  {
    id: 'terminal-escape',
    severity: 'high',
    finds: 'contains control characters, which can hide text in terminals',
    where: 'text',
    // oxlint-disable-next-line no-control-regex -- it looks for them
    pattern: /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]/,
  },
  {
    id: 'html-comment',
    severity: 'medium',
    finds: 'contains an HTML comment, which pages do not show',
    where: 'text',
    pattern: /<!--/,
  },
  {
    id: 'hidden-by-space',
    severity: 'medium',
    finds: 'contains so much white space that the rest is out of sight',
    where: 'text',
    pattern: /[ \t\u00a0\u2000-\u200a\u3000]{80}|(?:\r?\n[ \t]{0,8}){15}/,
  },
  {
    id: 'encoded-text',
    severity: 'medium',
    finds: 'contains a long encoded text',
    where: 'text',
    pattern: /(?<![A-Za-z0-9+/])[A-Za-z0-9+/]{400}/,
  },
  {
    id: 'lookalike-name',
    severity: 'high',
    finds: 'contains letters that look like Latin ones',
    where: 'name',
    pattern: new RegExp(
      `^(?=[\\s\\S]{0,200}\\p{Script=Latin})(?=[\\s\\S]{0,200}[\\p{Script=Cyrillic}\\p{Script=Greek}\\p{Script=Armenian}\\p{Script=Cherokee}\\p{Script=Coptic}\\p{Script=Lisu}])|^[${lookalikes}_.\\-0-9]{0,99}[${lookalikes}][${lookalikes}_.\\-0-9]{0,99}$|[\\uff01-\\uff5e\\u{1d400}-\\u{1d7ff}\\u{24b6}-\\u{24e9}]`,
      'u',
    ),
  },
  {
    id: 'unusual-name',
    severity: 'low',
    finds: 'contains characters that names of tools do not have (MCP 2025-11-25, Tools, Tool Names)',
    where: 'name',
    pattern: /[^\w.\-/]/,
  },
  {
    id: 'reserved-name',
    severity: 'low',
    finds: 'is the name of a built-in tool of clients',
    where: 'name',
    pattern: new RegExp(`^(?:${builtInTools})$`, 'i'),
  },
];
