import { posix } from 'node:path';
import { heading } from './markdown.ts';

/** A page as it is written. */
export interface WrittenPage {
  /** From the folder of the generated page, such as `guides-cli/install.mdx`. */
  path: string;
  text: string;
}

/** The folders of guides in the order of the generated page, with the name of their category. */
const folders = {
  'guides-cli': 'CLI',
  'guides-ui': 'Web UI',
  tutorials: 'Tutorials',
  'guides-mcp': 'Servers',
  'guides-k8s': 'Kubernetes',
  reference: 'Reference',
};

/**
 * Collects every symptom under the heading Troubleshooting of the guides, with its cause and fix. The guides are the only
 * source, and the search finds symptoms on this page alone.
 */
export function troubleshootingReference(pages: readonly WrittenPage[]): string {
  return Object.entries(folders)
    .flatMap(([folder, area]) =>
      pages
        .filter(({ path }) => posix.dirname(path) === folder)
        .toSorted((one, other) => placeOf(one) - placeOf(other) || one.path.localeCompare(other.path))
        .flatMap((page) => sectionOf(page, area)),
    )
    .join('\n\n');
}

/** Newcomers meet these symptoms first. */
const first = ['install.mdx', 'run-mcp-servers.mdx'];

function placeOf({ path }: WrittenPage): number {
  const place = first.indexOf(posix.basename(path));
  return place === -1 ? first.length : place;
}

function sectionOf({ path, text }: WrittenPage, area: string): string[] {
  const symptoms = symptomsOf(text);
  if (symptoms.length === 0) return [];
  const slug = path.replace(/\.mdx$/, '').replaceAll('/', '-');
  const title = /^title: '(.+)'$/m.exec(text)?.[1]?.replaceAll("''", "'") ?? slug;
  return [
    heading(2, `${area}: ${title}`, slug),
    `[Open the guide](./${path}#troubleshooting)`,
    ...symptoms.flatMap(({ symptom, body }, index) => [
      heading(3, symptom, `${slug}-${index + 1}`),
      withLinksFrom(path, body),
    ]),
  ];
}

interface Symptom {
  symptom: string;
  body: string;
}

/** Symptoms are disclosures, or else headings. */
function symptomsOf(text: string): Symptom[] {
  const [, section = ''] = /^## Troubleshooting\n([^]*?)(?=^## )/m.exec(`${text}\n## `) ?? [];
  const readable = section.replaceAll(/^ *\{\/\* .* \*\/\}\n/gm, '');
  const disclosures = readable.matchAll(/^<details>\n<summary>(.+)<\/summary>\n([^]*?)^<\/details>/gm);
  const headings = readable.matchAll(/^### (.+)\n([^]*?)(?=^### |(?![^]))/gm);
  return [...disclosures, ...headings].map(([, symptom = '', body = '']) => ({
    symptom: symptom.trim(),
    body: body.trim(),
  }));
}

function withLinksFrom(path: string, body: string): string {
  return body.replaceAll(/\]\(((?:\.{1,2}\/|#)[^)]+)\)/g, (_, target: string) => {
    const moved = target.startsWith('#') ? `${path}${target}` : posix.join(posix.dirname(path), target);
    return `](./${moved})`;
  });
}
