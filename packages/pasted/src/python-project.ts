import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { invalid } from '@toolhive/contract/failure';
import * as z from 'zod';
import { readProjectFile } from './project-file.ts';
import { type OtherFlags, valuesOf } from './other-flags.ts';
import { requirementName, sameName } from './python-settings.ts';

const Names = z.record(z.string(), z.unknown()).optional().catch(undefined);
const Requirements = z.record(z.string(), z.array(z.unknown())).optional().catch(undefined);
const Project = z.object({
  project: z
    .object({
      name: z.string().optional().catch(undefined),
      scripts: Names,
      'optional-dependencies': Requirements,
    })
    .optional()
    .catch(undefined),
  tool: z
    .object({
      poetry: z.object({ scripts: Names }).optional().catch(undefined),
      uv: z
        .object({ sources: Names, index: z.array(z.unknown()).optional() })
        .optional()
        .catch(undefined),
    })
    .optional()
    .catch(undefined),
  'dependency-groups': Requirements,
});

/** The program names in a project file. Undefined if another file can name them. */
export async function programsOf(place: string): Promise<string[] | undefined> {
  const project = await projectIn(place);
  if (project === undefined || ['setup.py', 'setup.cfg'].some((file) => existsSync(join(place, file))))
    return undefined;
  return Object.keys({ ...project.project?.scripts, ...project.tool?.poetry?.scripts });
}

/** The optional parts that a command chooses. */
export interface Choices {
  extras: string[];
  groups: string[];
  allExtras: boolean;
  allGroups: boolean;
}

export function choicesIn(given: OtherFlags['given']): Choices {
  const has = (flag: string): boolean => given.some(([name]) => name === flag);
  return {
    extras: valuesOf(given, '--extra'),
    groups: valuesOf(given, '--group'),
    allExtras: has('--all-extras'),
    allGroups: has('--all-groups'),
  };
}

/** Returns the requirements of the chosen extras and groups. Throws `invalid` if the project has no such part. */
export async function requirementsOf(place: string | undefined, choices: Choices): Promise<string[]> {
  const { extras, groups, allExtras, allGroups } = choices;
  if (!allExtras && !allGroups && extras.length + groups.length === 0) return [];
  const project = place === undefined ? undefined : await projectIn(place);
  if (place === undefined || project === undefined) {
    throw invalid('the flags --extra and --group need a project, and there is no pyproject.toml', {
      hint: 'add --directory with the path of the project',
    });
  }
  const optional = project.project?.['optional-dependencies'] ?? {};
  const parts = project['dependency-groups'] ?? {};
  const file = join(place, 'pyproject.toml');
  const found = [
    ...(allExtras ? Object.keys(optional) : extras).flatMap((name) =>
      partOf(optional, name, `${file}: no extra`),
    ),
    ...(allGroups ? Object.keys(parts) : groups).flatMap((name) => partOf(parts, name, `${file}: no group`)),
  ];
  const { sources = {}, index = [] } = project.tool?.uv ?? {};
  const foreign = Object.keys(sources).find((name) =>
    found.some((each) => sameName(requirementName(each), name)),
  );
  if (found.length > 0 && (foreign !== undefined || index.length > 0)) {
    throw invalid(`${file} names another place for ${foreign ?? 'its packages'} in [tool.uv]`, {
      hint: 'ToolHive installs from the public registry, which could have another package with this name. Omit the flags --extra and --group',
    });
  }
  return [...new Set(found)];
}

/** A group can include others, and so can an extra, with its project's name. */
function partOf(
  parts: Readonly<Record<string, readonly unknown[]>>,
  name: string,
  problem: string,
  seen = new Set<string>(), // once each, because inclusions of inclusions would multiply
): string[] {
  const list = Object.hasOwn(parts, name) ? parts[name] : undefined;
  if (list === undefined) {
    throw invalid(`${problem} ${name}`, {
      hint: `the project has ${Object.keys(parts).join(', ') || 'none'}`,
    });
  }
  if (seen.has(name)) return [];
  seen.add(name);
  return list.flatMap((each) => {
    if (typeof each === 'string') return each;
    const included = z.object({ 'include-group': z.string() }).safeParse(each).data?.['include-group'];
    return included === undefined ? [] : partOf(parts, included, problem, seen);
  });
}

async function projectIn(place: string): Promise<z.infer<typeof Project> | undefined> {
  const file = join(place, 'pyproject.toml');
  if (!existsSync(file)) return undefined;
  const { parse } = await import('smol-toml');
  try {
    return Project.safeParse(parse(readProjectFile(file))).data;
  } catch {
    throw invalid(`${file} is not TOML`, { hint: 'correct the file' });
  }
}
