import type { Assistant } from './src/components/PageMenu.tsx';
import type { HostedSearch } from './src/plugins/search/search.ts';

/**
 * What the owner of a copy of this site sets: where it is published, where else the project can be met, and what is
 * switched on. The addresses are placeholders: replace them here, and nowhere else, before you publish the site.
 *
 * Everything below `settings` is off unless a variable of the environment asks for it when the site is built, so that
 * a site built without any asks nothing of anybody else.
 */
export const site = {
  /** The address that the site is published under, without a slash at the end. */
  url: process.env['DOCS_URL'] ?? 'https://docs.toolhive.example',
  /** The icons at the top and at the foot of every page. */
  links: {
    code: { label: 'Source code', href: 'https://github.com/toolhive' },
    chat: { label: 'Community chat', href: 'https://chat.toolhive.example' },
    video: { label: 'Videos', href: 'https://video.toolhive.example' },
    professional: { label: 'Professional network', href: 'https://network.toolhive.example' },
    social: { label: 'Social network', href: 'https://social.toolhive.example' },
  },
  /** Programs of others that a reader can take a page to. They read it only where the site is published. */
  assistants: [
    { label: 'ChatGPT', href: 'https://chatgpt.com/?q=' },
    { label: 'Claude', href: 'https://claude.ai/new?q=' },
  ] satisfies Assistant[],
} as const;

/** A line above every page: `DOCS_ANNOUNCEMENT` holds it as JSON. A new id shows it again to those who have closed it. */
interface Announcement {
  id: string;
  /** HTML. */
  content: string;
  backgroundColor?: string;
  textColor?: string;
  isCloseable?: boolean;
}

export interface Settings {
  /**
   * `DOCS_SEARCH_APP`, `DOCS_SEARCH_KEY` and `DOCS_SEARCH_INDEX`: an application of Algolia, its key for searching and an
   * index made by its crawler. With `DOCS_SEARCH_ASSISTANT`, its assistant answers questions. Without them the site
   * searches itself.
   */
  search: HostedSearch | undefined;
  announcement: Announcement | undefined;
  /** `DOCS_HIDE_NAVBAR=1`: the bar at the top goes away while the reader scrolls down. */
  hideNavbarOnScroll: boolean;
  /** `DOCS_COLOR_MODE`: `light` or `dark` for everybody, without a switch. */
  colorMode: string | undefined;
  /** `DOCS_ANALYTICS`: the folder of this site that the script which counts page views is in; `1` for `/_analytics`. */
  analytics: string | undefined;
  /** `DOCS_TAG_MANAGER`: the id of a container of Google Tag Manager. */
  tagManager: string | undefined;
  /**
   * `DOCS_FEEDBACK`: where what readers write is sent, and whether a page helped them, as JSON; or the form for new issues
   * of a code host, which is opened filled in.
   */
  feedback: string | undefined;
}

/** What the environment of the build asks for. */
export function settingsFrom(env: NodeJS.ProcessEnv): Settings {
  const announcement = env['DOCS_ANNOUNCEMENT'];
  return {
    search: hostedSearchFrom(env),
    announcement: announcement ? (JSON.parse(announcement) as Announcement) : undefined,
    hideNavbarOnScroll: env['DOCS_HIDE_NAVBAR'] === '1',
    colorMode: env['DOCS_COLOR_MODE'] || undefined,
    analytics: env['DOCS_ANALYTICS'] === '1' ? '/_analytics' : env['DOCS_ANALYTICS'] || undefined,
    tagManager: env['DOCS_TAG_MANAGER'] || undefined,
    feedback: env['DOCS_FEEDBACK'] || undefined,
  };
}

/** Throws for a service that is only half named: the site would search itself, and nobody would know why. */
function hostedSearchFrom(env: NodeJS.ProcessEnv): HostedSearch | undefined {
  const names = ['DOCS_SEARCH_APP', 'DOCS_SEARCH_KEY', 'DOCS_SEARCH_INDEX'];
  const missing = names.filter((name) => !env[name]);
  const assistantId = env['DOCS_SEARCH_ASSISTANT'] || undefined;
  if (missing.length === names.length && assistantId === undefined) return undefined;
  if (missing.length > 0) throw new Error(`hosted search needs ${missing.join(' and ')}, too`);
  const [appId = '', apiKey = '', indexName = ''] = names.map((name) => env[name]);
  return { appId, apiKey, indexName, assistantId };
}
