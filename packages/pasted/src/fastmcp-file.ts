import { existsSync, realpathSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { invalid, notFound } from '@toolhive/contract/failure';
import * as z from 'zod';
import { isOutside } from './paths.ts';
import type { Pasted, PastedFrom } from './pasted.ts';
import { hasPlaceholder } from './placeholders.ts';
import { readProjectFile } from './project-file.ts';
import { requirementsIn } from './requirements-file.ts';

const texts = z.array(z.string()).nullish();
const FastMcpFile = z.object({
  source: z.object({
    type: z.literal('filesystem').nullish(),
    path: z.string().endsWith('.py', 'must name a Python file'),
    entrypoint: z
      .string()
      .regex(/^[A-Za-z_]\w*$/)
      .nullish(),
  }),
  environment: z
    .object({
      python: z.string().nullish(),
      dependencies: texts,
      requirements: z.string().nullish(),
      project: z.string().nullish(),
      editable: z.union([z.string(), z.array(z.string())]).nullish(),
    })
    .nullish(),
  deployment: z
    .object({
      env: z.record(z.string(), z.string()).nullish(),
      args: texts,
      cwd: z.string().nullish(),
    })
    .nullish(),
});
type FastMcpFile = z.infer<typeof FastMcpFile>;

/** The server in a FastMCP project file, as `fastmcp run FILE` would start it. */
export interface FastMcpServer {
  /** The file with the server, and the object in it: `/project/server.py:mcp`. */
  target: string;
  /** The server's arguments, unless the command has others. */
  args: string[];
  /** Its packages, Python version, and environment variables. */
  settings: Pick<Pasted['request'], 'python_with' | 'python_version' | 'env_vars'>;
  notes: string[];
}

/**
 * Reads a FastMCP project file (`fastmcp.json`). The project can come from others, so the file can name only files in
 * its own directory, and receives no variable of the user's environment.
 */
export async function readFastMcpFile(path: string, from: PastedFrom): Promise<FastMcpServer> {
  const { source, environment, deployment } = parsed(await from.readFile(path), path);
  const file = fileIn(path, source.path);
  const { requirements, left } = packagesOf(path, environment);
  const { python } = environment ?? {};
  const version = /^\d+(?:\.\d+){0,2}$/.test(python ?? '') ? python : undefined;
  const { env, open } = variablesOf(deployment);
  const notes = [
    ...(left.length === 0 ? [] : [`these packages of ${path} are not installed: ${left.join(', ')}`]),
    ...(python && version === undefined ? [`ToolHive chooses the Python version, not ${path}`] : []),
    ...open.map(
      (name) => `${path} takes ${name} from the environment. To set the variable, use -e ${name}=VALUE`,
    ),
    ...(deployment?.cwd ? [`the server does not start in ${deployment.cwd}`] : []),
  ];
  return {
    target: source.entrypoint ? `${file}:${source.entrypoint}` : file,
    args: deployment?.args?.length ? ['--', ...deployment.args] : [],
    settings: {
      python_with: requirements,
      ...(version ? { python_version: version } : {}),
      ...(Object.keys(env).length === 0 ? {} : { env_vars: env }),
    },
    notes,
  };
}

function parsed(text: string, path: string): FastMcpFile {
  const json = jsonOf(text, path);
  if (typeof json === 'object' && json !== null && 'mcpServers' in json) {
    throw invalid(`${path} contains servers for a client`, { hint: `run thv import ${path}` });
  }
  const read = FastMcpFile.safeParse(json);
  if (read.success) return read.data;
  const [issue] = read.error.issues;
  const place = issue === undefined ? '' : `: ${issue.path.join('.')}: ${issue.message}`;
  throw invalid(`${path} is not a FastMCP project file${place}`, {
    hint: 'correct the file, or run the file with the server: fastmcp run FILE.py',
  });
}

function jsonOf(text: string, path: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (cause) {
    throw invalid(`${path} is not JSON`, { hint: 'correct the file', cause });
  }
}

/** A file that the project file names. Throws if it is outside the directory of the project file, also through a link. */
function fileIn(projectFile: string, named: string): string {
  const directory = dirname(projectFile);
  const path = resolve(directory, named);
  const outside = () =>
    invalid(`${projectFile} names ${path}, which is outside its directory`, {
      hint: 'move the file into this directory, or run the file itself: fastmcp run FILE.py',
    });
  if (isOutside(directory, path)) throw outside();
  if (!existsSync(path)) {
    throw notFound(`${path} not found`, { hint: `correct the path in ${projectFile}` });
  }
  if (isOutside(realpathSync(directory), realpathSync(path))) throw outside();
  return path;
}

/** The packages that ToolHive can install, and the texts that name others. */
function packagesOf(
  projectFile: string,
  environment: FastMcpFile['environment'],
): { requirements: string[]; left: string[] } {
  const { dependencies, requirements: file, project, editable } = environment ?? {};
  const lines = dependencies ?? [];
  const named = requirementsIn(lines.join('\n'));
  const listed = file ? requirementsIn(readProjectFile(fileIn(projectFile, file))) : undefined;
  // The script's own project is found without its name.
  const others = [project ?? [], editable ?? []].flat().filter((place) => !/^\.?\/?$/.test(place));
  return {
    requirements: [...named.requirements, ...(listed?.requirements ?? [])],
    left: [
      ...named.others.map((line) => lines.join('\n').split('\n')[line - 1] ?? ''),
      ...(listed?.others ?? []).map((line) => `line ${line} of ${file ?? ''}`),
      ...others,
    ],
  };
}

/** FastMCP would replace a placeholder with any of the user's variables, also with a credential for something else. */
function variablesOf(deployment: FastMcpFile['deployment']): {
  env: Record<string, string>;
  open: string[];
} {
  const all = Object.entries(deployment?.env ?? {});
  return {
    env: Object.fromEntries(all.filter(([, value]) => !hasPlaceholder(value))),
    open: all.filter(([, value]) => hasPlaceholder(value)).map(([name]) => name),
  };
}
