import { heading } from './markdown.ts';

/** A version of ToolHive for its users. */
interface Release {
  version: string;
  /** The publication date, as YYYY-MM-DD. Undefined if the version is not published. */
  date: string | undefined;
  /** The most important changes, as sentences in Markdown. */
  changes: readonly string[];
}

/** All versions, the newest first. The page and the feed of the release notes come from this list. */
const releases: readonly Release[] = [
  {
    version: '0.1.0',
    date: undefined,
    changes: [
      'Run MCP servers from the registry, npm, PyPI, Go, local directories, container images, and URLs.',
      'Isolate servers in the Linux sandbox, Docker, Podman, or Colima, with permission profiles for files and network hosts.',
      'Connect clients with any protocol version from 2024-11-05 to 2026-07-28.',
      'Configure 17 MCP clients automatically, by group.',
      'Store secrets encrypted, in 1Password, or in environment variables.',
      'Require access tokens, and decide with Cedar policies who can call which tool.',
      'Detect changed tools with tool pinning, and verify packages and images with attestations.',
      'Collect traces, metrics, and an audit log.',
      'Control everything in the web UI, with the CLI, or through the API.',
    ],
  },
];

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
