import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { clientApplications, formatOf } from '@toolhive/contract/client-application';
import type { ClientApplication, ProjectFile } from '@toolhive/contract/client-application';
import type { EntryValue } from './entry.ts';
import { limits } from './client-files.ts';
import { changeEntries, readEntries, readSection } from './entry-file.ts';
import { TextFiles } from './text-files.ts';

/** A section with servers in a client's configuration: of the user, or of one project. */
export interface Place {
  /** The client, with the section in this file. */
  application: ClientApplication;
  scope: 'user' | 'project';
  path: string;
  /** The directory of the project, where its relative paths start. */
  directory: string | undefined;
  /** Whether the file is in the project, so that others may have written it. */
  isShared: boolean;
}

export interface PlacesOptions {
  /** A client's files for all projects, one for each installation. */
  userFiles: (client: ClientApplication['id']) => readonly string[];
  /** The directories of projects, absolute. */
  projects: readonly string[];
}

const files = new TextFiles();

/**
 * The places where clients look for servers, once each: those of the user, those of the projects, and the sections for
 * other projects in a user's file. A file that cannot be read has its own place only.
 */
export async function findPlaces({ userFiles, projects }: PlacesOptions): Promise<Place[]> {
  const places: Place[] = [];
  const seen = new Set<string>();
  const add = (place: Place): void => {
    const key = `${place.path}\n${place.application.pointer.join('\n')}`;
    if (!seen.has(key) && existsSync(place.path)) places.push(place);
    seen.add(key);
  };
  for (const application of clientApplications) {
    for (const path of userFiles(application.id)) {
      const user: Place = { application, scope: 'user', path, directory: undefined, isShared: false };
      add(user);
      for (const section of await sectionsOfProjects(user)) add(section);
      for (const file of await filesAt(dirname(path), application, application.otherSections))
        add({ ...user, ...file });
    }
    for (const directory of projects)
      for (const file of await filesAt(directory, application, application.projectFiles))
        add({ ...file, scope: 'project', directory, isShared: true });
  }
  return places;
}

/** A project can come from others. */
const MAX_FILES = 50;

/** The sections in a client's other files. */
async function filesAt(
  directory: string,
  application: ClientApplication,
  sections: readonly ProjectFile[],
): Promise<Pick<Place, 'application' | 'path'>[]> {
  const found: Pick<Place, 'application' | 'path'>[] = [];
  for (const { file, pointer } of sections) {
    const section = { ...application, pointer, format: formatOf(file) ?? application.format };
    const [folder, suffix] = file.split('*');
    if (suffix === undefined || folder === undefined) {
      found.push({ application: section, path: join(directory, file) });
      continue;
    }
    const names = await readdir(join(directory, folder)).catch(() => []); // no such directory
    const paths = suffix.startsWith('/')
      ? names.map((name) => name + suffix)
      : names.filter((name) => name.endsWith(suffix));
    for (const path of paths.toSorted().slice(0, MAX_FILES))
      found.push({ application: section, path: join(directory, folder, path) });
  }
  return found;
}

/** The sections in a user's file, with one project each. */
async function sectionsOfProjects({ application, path }: Place): Promise<Place[]> {
  const { projects, pointer, format } = application;
  if (projects === undefined || !existsSync(path)) return [];
  try {
    const directories = await files.read(path, limits[format], (text) =>
      readSection({ path, text }, application, projects),
    );
    return directories.map((directory) => ({
      application: { ...application, pointer: [...projects, directory, ...pointer] },
      scope: 'project',
      path,
      directory,
      isShared: false,
    }));
  } catch {
    return []; // the place of the file itself reports the problem
  }
}

/** The entries at a place, by name. Throws `conflict` for a file that cannot be read. */
export function readPlace({ application, path }: Place): Promise<{
  text: string;
  entries: ReadonlyMap<string, unknown>;
}> {
  return files.read(path, limits[application.format], (text) => ({
    text,
    entries: readEntries({ path, text }, application),
  }));
}

/** The text of a file, or an empty text without a file. */
export function readPlaceText({ application: { format }, path }: Place): Promise<string> {
  return files.read(path, limits[format], (text) => text);
}

/** The entries in a text of a place's file. */
export function textEntries({ application, path }: Place, text: string): ReadonlyMap<string, unknown> {
  return readEntries({ path, text }, application);
}

/** The text with other entries. All other bytes stay the same. */
export function changePlace(
  { application, path }: Place,
  text: string,
  changes: ReadonlyMap<string, EntryValue | undefined>,
): string {
  return changeEntries({ path, text }, application, changes);
}

/** Replaces the text of a file as a whole. See `TextFiles.edit`. */
export function editPlace(
  { application: { format }, path }: Place,
  change: (text: string, target: string) => Promise<string | undefined>,
): Promise<void> {
  return files.edit(path, limits[format], change);
}
