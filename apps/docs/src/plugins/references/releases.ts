import { readFileSync } from 'node:fs';
import { heading } from './markdown.ts';

/** A version of ToolHive for its users. */
interface Release {
  version: string;
  /** The publication date, as YYYY-MM-DD. Undefined if the version is not published. */
  date: string | undefined;
  /** The most important changes, as sentences in Markdown. */
  changes: readonly string[];
}

/** The versions in the text of a changelog, as changesets and maintainers write it, the newest first. */
export function readChangelog(text: string): Release[] {
  const [, ...sections] = text.split(/^## /m);
  return sections.map((section) => ({
    version: section.split('\n', 1)[0]?.trim() ?? '',
    date: /^_Published on (\d{4}-\d\d-\d\d)\._$/m.exec(section)?.[1],
    changes: [...section.matchAll(/^- (?:[0-9a-f]{7,}: )?(.+(?:\n {2}.+)*)/gm)].map(([, change = '']) =>
      change.replaceAll(/\n {2}/g, ' '),
    ),
  }));
}

const changelog = new URL('../../../../../CHANGELOG.md', import.meta.url);

/** All versions. The page and the feed of the release notes come from the changelog. */
const releases: readonly Release[] = readChangelog(readFileSync(changelog, 'utf8'));

/** Returns a section for each version, to be included in a page. */
export function releaseReference(): string {
  const sections = releases.map(({ version, date, changes }) =>
    [
      heading(2, `Version ${version}`, anchorOf(version)),
      date === undefined ? 'Not published yet.' : `Published on ${date}.`,
      changes.map((change) => `- ${change}`).join('\n'),
    ].join('\n\n'),
  );
  return `${sections.join('\n\n')}\n`;
}

const anchorOf = (version: string): string => `version-${version.replaceAll('.', '-')}`;

/** Returns the Atom feed (RFC 4287) of the published versions, with links to a page at `url`. */
export function releaseFeed(title: string, url: string, versions = releases): string {
  const page = `${url}/toolhive/reference/release-notes`;
  const published = versions.flatMap(({ version, date, changes }) =>
    date === undefined ? [] : [{ version, date, changes }],
  );
  const entries = published.map(
    ({ version, date, changes }) => `  <entry>
    <id>${page}#${anchorOf(version)}</id>
    <title>${escaped(`${title} ${version}`)}</title>
    <updated>${date}T00:00:00Z</updated>
    <link href="${page}#${anchorOf(version)}"/>
    <content type="text">${escaped(changes.join('\n'))}</content>
  </entry>
`,
  );
  return `<?xml version="1.0" encoding="utf-8"?>
<feed xmlns="http://www.w3.org/2005/Atom">
  <id>${page}</id>
  <title>${escaped(`${title} release notes`)}</title>
  <author><name>${escaped(title)}</name></author>
  <updated>${published[0]?.date ?? '1970-01-01'}T00:00:00Z</updated>
  <link rel="self" href="${url}${feedPath}"/>
  <link href="${page}"/>
${entries.join('')}</feed>
`;
}

/** The address of the feed on the site. */
export const feedPath = '/release-notes.xml';

const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
