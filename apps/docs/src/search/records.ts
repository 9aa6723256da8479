/** The name of the plugin, by which the browser finds what it has set. */
export const pluginName = 'search';

/** The file of the built site that embedded search is made from. */
export const indexFile = 'search-index.json';

/** What one page has to be found by. The first section is the page itself, with what stands before any other heading. */
export interface IndexedPage {
  /** From the root of the site. */
  url: string;
  /** The part of the site that it belongs to. */
  area: string;
  language: string;
  /** Which version of which documentation, in the words of Docusaurus. */
  tag: string;
  /** What the page says of itself to other search engines. */
  about: string;
  /** Other words for the page. The index contains them, and browsers do not receive them. */
  keywords?: string;
  sections: readonly IndexedSection[];
}

export interface IndexedSection {
  level: number;
  /** Empty for the page itself. */
  anchor: string;
  title: string;
  text: string;
}
