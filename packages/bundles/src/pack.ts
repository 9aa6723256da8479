import { lstat, readdir, realpath } from 'node:fs/promises';
import { isAbsolute, join } from 'node:path';
import { invalid, notFound, tooLarge } from '@toolhive/contract/failure';
import ignore from 'ignore';
import { bundleLimits } from './archive.ts';
import { MANIFEST, MANIFEST_LIMIT, type Manifest, readPublishedManifest } from './manifest.ts';
import { beginningOf, openFound, readSmall } from './packed-files.ts';
import { type FileToPack, writeArchive } from './write-archive.ts';

/** What was packed. */
export interface PackedBundle {
  manifest: Manifest;
  /** The paths in the bundle, sorted. */
  files: string[];
  /** The paths that were left out, sorted. Folders end with a slash. */
  omitted: string[];
  /** What the author should know. */
  notes: string[];
}

/** Files with credentials, and those of version control. No pattern of the author includes them. */
const never = [
  '.git',
  '.hg',
  '.svn',
  '.env*',
  '.npmrc',
  '.yarnrc*',
  '.netrc',
  '.pypirc',
  '.ssh',
  '.aws',
  'id_rsa*',
  'id_ed25519*',
  'id_ecdsa*',
  '*.mcpb',
  '*.dxt',
];

/** What the official tool leaves out, too. The author's patterns can include it. */
const usually = [
  '.DS_Store',
  'Thumbs.db',
  '.gitignore',
  '.mcpbignore',
  '.dxtignore',
  '*.log',
  '.npm',
  '.yarn',
  '.eslintrc',
  '.editorconfig',
  '.prettierrc',
  '.prettierignore',
  '.eslintignore',
  '.nycrc',
  '.babelrc',
  '.pnp.*',
  'node_modules/.cache',
  'node_modules/.bin',
  'node_modules/.package-lock.json',
  '*.map',
  'package-lock.json',
  'yarn.lock',
  '*.d.ts',
  '*.tsbuildinfo',
  'tsconfig.json',
  '__pycache__',
  '.venv',
];

const IGNORE_FILES = ['.mcpbignore', '.dxtignore'];
const IGNORE_LIMIT = 1024 ** 2;

/**
 * Packs a directory into a bundle that the official validation accepts. Throws `invalid` for an invalid manifest, and
 * for a link, because a bundle contains only files.
 */
export async function packBundle(directory: string, output: string): Promise<PackedBundle> {
  const content = await readSmall(join(directory, MANIFEST), MANIFEST_LIMIT);
  if (content === undefined) {
    throw notFound(`${directory} has no ${MANIFEST}`, {
      hint: 'describe the server in a manifest.json: https://github.com/modelcontextprotocol/mcpb/blob/main/MANIFEST.md',
    });
  }
  const manifest = readPublishedManifest(content, join(directory, MANIFEST));
  await requireIcon(directory, content);
  const { files, omitted } = await filesIn(directory);
  const paths = files.map(({ path }) => path).toSorted();
  const { entry_point: entry } = manifest.server;
  const notes = paths.includes(entry) ? [] : [`the bundle does not contain its entry_point ${entry}`];
  await writeArchive(files, output);
  return { manifest, files: paths, omitted: omitted.toSorted(), notes };
}

async function filesIn(root: string): Promise<{ files: FileToPack[]; omitted: string[] }> {
  const patterns = await Promise.all(IGNORE_FILES.map((name) => readSmall(join(root, name), IGNORE_LIMIT)));
  const secret = ignore({ ignorecase: true }).add(never);
  const chosen = patterns.reduce((all, text) => all.add(text?.toString() ?? ''), ignore().add(usually));
  const files: FileToPack[] = [];
  const omitted: string[] = [];
  const real = await realpath(root);
  let bytes = 0;
  const folders = [''];
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    for (const name of (await readdir(join(real, folder))).toSorted()) {
      const path = folder === '' ? name : `${folder}/${name}`;
      const place = join(real, path);
      const found = await lstat(place);
      const word = found.isDirectory() ? `${path}/` : path;
      if (secret.ignores(word) || (path !== MANIFEST && chosen.ignores(word))) omitted.push(word);
      else if (found.isDirectory()) folders.push(path);
      else if (found.isFile() || found.isSymbolicLink()) {
        const file = found.isFile() ? place : await targetOf(place, path, real);
        if (/\.(?:pem|key|p8|ppk)$/i.test(path) && (await isPrivateKey(file))) {
          omitted.push(path);
          continue;
        }
        const { size, mode } = await lstat(file);
        bytes += size;
        const content = { size, open: () => openFound(file, real) };
        files.push({ path, content, isExecutable: (mode & 0o111) !== 0 });
      } else throw invalid(`${place} is not a file`, { hint: `move it, or list ${path} in .mcpbignore` });
      if (files.length > bundleLimits.entries || bytes > bundleLimits.bytes)
        throw tooLarge(
          `${root} contains more than ${bundleLimits.entries} files or ${bundleLimits.bytes / 1024 ** 3} GiB`,
          {
            hint: 'list the files that the server does not need in .mcpbignore',
          },
        );
    }
  }
  return { files, omitted };
}

/** The file of a link, which the bundle contains in place of the link. */
async function targetOf(link: string, path: string, root: string): Promise<string> {
  const target = await realpath(link).catch(() => undefined);
  const isInside = target?.startsWith(`${root}/`) === true;
  if (target !== undefined && isInside && (await lstat(target)).isFile()) return target;
  throw invalid(`${link} is a link that does not lead to a file in the directory`, {
    hint: `replace the link with its target, or list ${path} in .mcpbignore`,
  });
}

async function isPrivateKey(path: string): Promise<boolean> {
  const beginning = await beginningOf(path, 64 * 1024);
  return /PRIVATE KEY|PuTTY-User-Key-File/.test(beginning.toString('latin1'));
}

const PNG = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);

/** The official validation refuses other icons, too. */
async function requireIcon(directory: string, content: Buffer): Promise<void> {
  const { icon } = JSON.parse(content.toString().replace(/^\uFEFF/, '')) as { icon?: string }; // the schema was checked
  if (icon === undefined || icon === '' || /^https?:\/\//.test(icon)) return;
  const beginning =
    isAbsolute(icon) || icon.includes('${__dirname}')
      ? undefined
      : await beginningOf(join(directory, icon), PNG.length);
  if (beginning?.equals(PNG) === true) return;
  throw invalid(`the icon ${JSON.stringify(icon)} is not a PNG file in ${directory}`, {
    hint: 'name a PNG file by its path in the directory, for example icon.png',
  });
}
