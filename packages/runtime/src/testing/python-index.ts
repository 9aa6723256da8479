import { createHash } from 'node:crypto';
import { type WebServer, openWebServer } from './web-server.ts';
import { zip } from './zip.ts';

/** A wheel as its author wrote it. */
export interface Wheel {
  name: string;
  version: string;
  /** Files by path; a `.dist-info` is added. */
  files: Record<string, string>;
  /** The limits of the Python version, such as `>=3.12`. */
  requiresPython?: string;
  /** `Requires-Dist` lines. */
  requires?: readonly string[];
  /** Programs as `NAME = MODULE:FUNCTION`. */
  scripts?: readonly string[];
}

/** A small Python index (PEP 503) on loopback. */
export function openPythonIndex(wheels: readonly Wheel[]): Promise<WebServer> {
  const files = wheels.map((wheel) => ({ wheel, file: fileName(wheel), content: wheelOf(wheel) }));
  return openWebServer((origin) => {
    const projects = Map.groupBy(files, ({ wheel }) => wheel.name);
    return new Map<string, string | Buffer>([
      ...files.map(({ file, content }) => [`/files/${file}`, content] as const),
      ...[...projects].map(([name, all]) => {
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

const fileName = ({ name, version }: Wheel) => `${name.replaceAll('-', '_')}-${version}-py3-none-any.whl`;

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
  const all: Record<string, string> = {
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
