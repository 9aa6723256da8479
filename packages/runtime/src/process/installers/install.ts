import { invalid } from '@toolhive/contract/failure';
import * as z from 'zod';
import { readContents } from '../../contents/recorded.ts';
import type { PackageContents } from '../../runtime.ts';

/** How to start an installed package. Stored outside the package's directory, where no package can write. */
export interface Install {
  /** The exact version that was installed. */
  version: string;
  /** `node`, or a path in the package's folder. */
  command: string;
  /** Paths in the package's folder. */
  args: string[];
  /** Absolute paths of the machine that the tool chain consists of. Known before the package is unpacked. */
  readOnlyPaths: string[];
  /** How a bundle's server starts. Its arguments follow `args`. */
  template?: InstallTemplate | undefined;
  /** The downloaded content. Absent for local packages and for installations by earlier versions of ToolHive. */
  contents?: PackageContents | undefined;
}

/** Texts of a bundle, in which the user's values are filled in at each start. */
type InstallTemplate = z.infer<typeof InstallTemplate>;

const Texts = z.record(z.string(), z.string());
const InstallTemplate = z.object({
  /** The path of the bundle in the package's folder. */
  bundle: z.string().refine(isInnerPath),
  /** The path of the server's working directory there. */
  directory: z.string().refine(isInnerPath),
  args: z.array(z.string()),
  env: Texts,
  defaults: z.record(z.string(), z.union([z.string(), z.array(z.string())])),
});

export const installFile = 'installed.json';
/** The file with the complete list of the package's content. */
export const packageFolder = 'package';

/** Reads an earlier installation's record. Returns undefined for anything that this version would not have written. */
export function parseInstall(text: string): Install | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (!isInstall(value)) return undefined;
  const template = value.template === undefined ? undefined : InstallTemplate.safeParse(value.template);
  if (template?.success === false) return undefined;
  return { ...value, template: template?.data, contents: readContents(value.contents) };
}

function isInstall(value: unknown): value is Install {
  if (typeof value !== 'object' || value === null) return false;
  const { version, command, args, readOnlyPaths } = value as Record<string, unknown>; // any object may be looked at so
  return (
    typeof version === 'string' &&
    isInnerPath(command) &&
    Array.isArray(args) &&
    args.every(isInnerPath) &&
    Array.isArray(readOnlyPaths) &&
    readOnlyPaths.every((path) => typeof path === 'string' && path.startsWith('/'))
  );
}

function isInnerPath(path: unknown): path is string {
  return typeof path === 'string' && path !== '' && !path.startsWith('/') && !path.split('/').includes('..');
}

/** A path that a package names in its own directory. Refused if it leads out of the directory. */
export function innerPath(name: string, path: string): string {
  const plain = path.replace(/^(\.?\/)+/, '');
  if (!isInnerPath(plain))
    throw invalid(`package ${name} names the path ${JSON.stringify(path)} outside itself`);
  return plain;
}
