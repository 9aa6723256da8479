import { createHash } from 'node:crypto';
import { type WebServer, openWebServer } from './web-server.ts';
import { zip } from './zip.ts';

/** A wheel as its author wrote it. */
export interface Wheel {
  name: string;
  version: string;
  /** Files by path; a `.dist-info` is added. */
  files: Record<string, string | Buffer>;
  /** The limits of the Python version, such as `>=3.12`. */
  requiresPython?: string;
  /** `Requires-Dist` lines. */
  requires?: readonly string[];
  /** Programs as `NAME = MODULE:FUNCTION`. */
  scripts?: readonly string[];
  /** Whether the index has only its source, from which the wheel must be built. */
  isSource?: boolean;
  /** When it was published (RFC 3339). Only the JSON of an index says so (PEP 700). */
  publishedAt?: string;
}

/** A small Python index on loopback (PEP 503, and PEP 691 for projects with a time of publication). */
export function openPythonIndex(wheels: readonly Wheel[]): Promise<WebServer> {
  const files = wheels.map((wheel) => ({
    wheel,
    file: fileName(wheel),
    content: wheel.isSource === true ? sourceOf(wheel) : wheelOf(wheel),
  }));
  return openWebServer((origin) => {
    const projects = Map.groupBy(files, ({ wheel }) => wheel.name);
    return new Map<string, string | Buffer>([
      ...files.map(({ file, content }) => [`/files/${file}`, content] as const),
      ...[...projects].map(([name, all]) => {
        if (all.some(({ wheel }) => wheel.publishedAt !== undefined))
          return [`/simple/${name}/`, jsonOf(origin, name, all)] as const;
        const links = all.map(({ file, content, wheel }) => {
          const hash = createHash('sha256').update(content).digest('hex');
          const python = wheel.requiresPython?.replaceAll('>', '&gt;').replaceAll('<', '&lt;');
          const limits = python === undefined ? '' : ` data-requires-python="${python}"`;
          return `<a href="${origin}/files/${file}#sha256=${hash}"${limits}>${file}</a>`;
        });
        return [`/simple/${name}/`, `<!DOCTYPE html><html><body>${links.join('\n')}</body></html>`] as const;
      }),
    ]);
  });
}

/** A project as JSON, which `openWebServer` sends with its own type. */
function jsonOf(
  origin: string,
  name: string,
  all: readonly { wheel: Wheel; file: string; content: Buffer }[],
): string {
  return JSON.stringify({
    meta: { 'api-version': '1.1' },
    name,
    versions: all.map(({ wheel }) => wheel.version),
    files: all.map(({ file, content, wheel }) => ({
      filename: file,
      url: `${origin}/files/${file}`,
      hashes: { sha256: createHash('sha256').update(content).digest('hex') },
      size: content.length,
      'upload-time': wheel.publishedAt,
    })),
  });
}

const fileName = (wheel: Wheel) => (wheel.isSource === true ? `${stem(wheel)}.zip` : wheelName(wheel));
const wheelName = (wheel: Wheel) => `${stem(wheel)}-py3-none-any.whl`;
const stem = ({ name, version }: Wheel) => `${name.replaceAll('-', '_')}-${version}`;

/** The archive of a source, whose build backend writes the wheel. */
function sourceOf(wheel: Wheel): Buffer {
  const { name, version } = wheel;
  const folder = stem(wheel);
  const backend = `import base64, os
def build_wheel(directory, settings=None, metadata=None):
    with open(os.path.join(directory, '${wheelName(wheel)}'), 'wb') as file:
        file.write(base64.b64decode('${wheelOf(wheel).toString('base64')}'))
    return '${wheelName(wheel)}'
`;
  return zip({
    [`${folder}/PKG-INFO`]: `Metadata-Version: 2.1\nName: ${name}\nVersion: ${version}\n`,
    [`${folder}/pyproject.toml`]:
      '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n',
    [`${folder}/backend.py`]: backend,
  });
}

/** The archive of a wheel. */
export function wheelOf({
  name,
  version,
  files,
  requiresPython,
  requires = [],
  scripts = [],
}: Wheel): Buffer {
  const info = `${name.replaceAll('-', '_')}-${version}.dist-info`;
  const all: Record<string, string | Buffer> = {
    ...files,
    [`${info}/METADATA`]: [
      'Metadata-Version: 2.1',
      `Name: ${name}`,
      `Version: ${version}`,
      ...(requiresPython === undefined ? [] : [`Requires-Python: ${requiresPython}`]),
      ...requires.map((one) => `Requires-Dist: ${one}`),
      '',
    ].join('\n'),
    [`${info}/WHEEL`]: 'Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n',
    [`${info}/entry_points.txt`]: `[console_scripts]\n${scripts.join('\n')}\n`,
  };
  const record = Object.entries(all).map(([path, content]) => {
    const hash = createHash('sha256').update(content).digest('base64url');
    return `${path},sha256=${hash},${Buffer.byteLength(content)}`;
  });
  return zip({ ...all, [`${info}/RECORD`]: `${record.join('\n')}\n${info}/RECORD,,\n` });
}
