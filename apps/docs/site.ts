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
  /** The organization at the code host, which the first icon of every page leads to. */
  code: 'https://github.com/toolhive',
  /** Programs from other vendors that can open a page. They can read the page only if the site is published. */
  assistants: [
    { label: 'ChatGPT', href: 'https://chatgpt.com/?q=' },
    { label: 'Claude', href: 'https://claude.ai/new?q=' },
  ] satisfies Assistant[],
} as const;

/** Where else the project can be met, in the order of the icons at the top and at the foot of every page. */
export const meetingPlaces = {
  chat: { label: 'Community chat', variable: 'DOCS_CHAT' },
  video: { label: 'Videos', variable: 'DOCS_VIDEO' },
  professional: { label: 'Professional network', variable: 'DOCS_PROFESSIONAL' },
  social: { label: 'Social network', variable: 'DOCS_SOCIAL' },
} as const;

export type MeetingPlace = keyof typeof meetingPlaces;

/** A line above every page, as JSON in `DOCS_ANNOUNCEMENT`. A new ID shows the line again to readers who closed it. */
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
  /**
   * `DOCS_CHAT`, `DOCS_VIDEO`, `DOCS_PROFESSIONAL` and `DOCS_SOCIAL`: the addresses of a chat, of videos and of two
   * networks. A place without an address has no icon.
   */
  places: Partial<Record<MeetingPlace, string>>;
  announcement: Announcement | undefined;
  /** `DOCS_HIDE_NAVBAR=1`: the navbar disappears while the reader scrolls down. */
  hideNavbarOnScroll: boolean;
  /** `DOCS_COLOR_MODE`: `light` or `dark` for all readers, without a switch. */
  colorMode: string | undefined;
  /** `DOCS_ANALYTICS`: the folder of this site with the script that counts page views. `1` means `/_analytics`. */
  analytics: string | undefined;
  /** `DOCS_TAG_MANAGER`: the ID of a Google Tag Manager container. */
  tagManager: string | undefined;
  /**
   * `DOCS_FEEDBACK`: the address that receives feedback as JSON, or the form for new issues of a code host, which the
   * site opens with the feedback filled in.
   */
  feedback: string | undefined;
}

/** The settings in the environment of the build. */
export function settingsFrom(env: NodeJS.ProcessEnv): Settings {
  const announcement = env['DOCS_ANNOUNCEMENT'];
  return {
    search: hostedSearchFrom(env),
    places: placesFrom(env),
    announcement: announcement ? (JSON.parse(announcement) as Announcement) : undefined,
    hideNavbarOnScroll: env['DOCS_HIDE_NAVBAR'] === '1',
    colorMode: env['DOCS_COLOR_MODE'] || undefined,
    analytics: env['DOCS_ANALYTICS'] === '1' ? '/_analytics' : env['DOCS_ANALYTICS'] || undefined,
    tagManager: env['DOCS_TAG_MANAGER'] || undefined,
    feedback: env['DOCS_FEEDBACK'] || undefined,
  };
}

/** Throws for any other address than one of the web, because each page would lead there. */
function placesFrom(env: NodeJS.ProcessEnv): Settings['places'] {
  const places = Object.entries(meetingPlaces).flatMap(([place, { variable }]) => {
    const address = env[variable];
    if (!address) return [];
    if (!/^https?:$/.test(URL.parse(address)?.protocol ?? ''))
      throw new Error(`${variable} is not a web address: ${address}`);
    return [[place, address]];
  });
  return Object.fromEntries(places) as Settings['places'];
}

/** Throws for an incomplete search service. Otherwise, the site would silently search itself. */
function hostedSearchFrom(env: NodeJS.ProcessEnv): HostedSearch | undefined {
  const names = ['DOCS_SEARCH_APP', 'DOCS_SEARCH_KEY', 'DOCS_SEARCH_INDEX'];
  const missing = names.filter((name) => !env[name]);
  const assistantId = env['DOCS_SEARCH_ASSISTANT'] || undefined;
  if (missing.length === names.length && assistantId === undefined) return undefined;
  if (missing.length > 0) throw new Error(`hosted search needs ${missing.join(' and ')}, too`);
  const [appId = '', apiKey = '', indexName = ''] = names.map((name) => env[name]);
  return { appId, apiKey, indexName, assistantId };
}
