import * as z from 'zod';

/** The server that finds and calls the tools of all other servers. */
export const metaServerName = 'meta-mcp';

/** The server that offers everything of all other servers of a group. */
export const combinedServerName = 'combined-mcp';

/** Servers that are a part of the daemon. */
export const BuiltInServerName = z.enum([metaServerName, combinedServerName]);
export type BuiltInServerName = z.infer<typeof BuiltInServerName>;

/** A workload name, which is also part of file names, container names, and log lines. */
export const WorkloadName = z
  .string()
  .min(1, 'a workload needs a name')
  .max(100, 'a workload name has at most 100 characters')
  // Agents pay for this pattern in the tools of the meta server, so the other rules are no part of it.
  .regex(/^[a-zA-Z0-9._-]+$/, 'a workload name consists of letters, digits, dots, dashes, and underscores')
  .refine((name) => !/^\.+$/.test(name) && !name.includes('..'), 'a workload name cannot contain ..')
  .refine((name) => /^[a-zA-Z0-9]/.test(name), 'a workload name starts with a letter or a digit')
  .meta({ examples: ['filesystem'] });

/** The kinds of endpoints that a group can have, and the server behind each. */
export const groupEndpoints = {
  meta: metaServerName,
  combined: combinedServerName,
} as const satisfies Readonly<Record<string, BuiltInServerName>>;

/** A tool of a workload, or with `*` all of its tools. */
export const ChosenTool = z
  .string()
  .max(400)
  .regex(
    /^[a-zA-Z0-9][a-zA-Z0-9._-]{0,99}\/.+$/s,
    'a chosen tool is the name of a workload, a slash, and the name of a tool, such as files/read_file',
  );

/** A group name. */
export const GroupName = z
  .string()
  .min(1, 'a group needs a name')
  .max(100, 'a group name has at most 100 characters')
  .regex(
    /^[a-z0-9_-]+( [a-z0-9_-]+)*$/,
    'a group name consists of lower-case letters, digits, dashes, underscores, and single spaces between them',
  )
  .meta({ examples: ['research'] });

/** The group of workloads without a chosen group. */
export const defaultGroup = 'default';

/** The name of the only registry. */
export const defaultRegistry = 'default';

/** Whether each client session has a separate server process, as registry entries and run configs say. */
export const sessionKinds = ['own', 'shared'] as const;

/** A TCP port. */
export const Port = z.int().min(1).max(65535);

/** The most local ports that one server can have. */
export const maxLocalPorts = 16;

/** Ports of this machine's loopback address that a server can connect to. */
export const LocalPorts = z.array(Port).max(maxLocalPorts);

/** The most ports that one server can publish. */
const maxPublishedPorts = 16;

/** `8000`, or `3000:8000`: a port of this machine's loopback address, and the port of the server that it leads to. */
export const PublishedPort = z
  .string()
  .max(11)
  .refine((text) => {
    const { port, serverPort } = publishedPortOf(text);
    const areInRange = port >= 1024 && port <= 65_535 && serverPort >= 1 && serverPort <= 65_535;
    return areInRange && /^\d+(?::\d+)?$/.test(text);
  }, 'is not a port from 1024 to 65535, or PORT:SERVER_PORT');

/** Ports of a server that programs of this machine can connect to, past the proxy. */
export const PublishedPorts = z.array(PublishedPort).max(maxPublishedPorts);

/** Both ports of a `PublishedPort`. */
export function publishedPortOf(text: string): { port: number; serverPort: number } {
  const [port, serverPort = port] = text.split(':').map(Number);
  return { port: port ?? 0, serverPort: serverPort ?? 0 };
}

/** The origin of a web page (RFC 6454), without a path: `https://app.example`, `http://localhost:6274`. */
export const WebOrigin = z
  .string()
  .max(300)
  .refine(
    (text) => URL.canParse(text) && new URL(text).origin === text && /^https?:/.test(text),
    'is not the origin of a web page, such as https://app.example or http://localhost:6274',
  );

/** The origins whose pages can use a workload. */
export const WebOrigins = z.array(WebOrigin).max(16);

/** A TCP port, or 0 for one that the daemon chooses. */
export const PortOrAny = z.int().min(0).max(65535);

/** The bytes of one argument or variable. Linux passes 131,072 at most, with the name of the variable (MAX_ARG_STRLEN). */
const maxWordBytes = 130_000;

const encoder = new TextEncoder();

/** A word of a command line, or the value of a variable, as a process can receive it. */
export const Argument = z
  .string()
  .refine((text) => !text.includes('\0'), 'contains a NUL character')
  .refine(
    (text) => text.length <= maxWordBytes / 3 || encoder.encode(text).length <= maxWordBytes,
    'has more than 130,000 bytes, which no program can receive: put it into a file, and mount the file',
  );

/** The name of an environment variable. */
export const VariableName = z
  .string()
  .regex(/^[A-Za-z_][A-Za-z0-9_.-]*$/, 'invalid environment variable name')
  .max(256);

/** Environment variables by name. */
export const Environment = z.record(VariableName, Argument);

/** The runtime of older run configs, which name none. */
export const formerRuntime = 'docker';

/** A host name without the first part that many servers share: `mcp.example.com` becomes `example.com`. */
export function distinctHost(hostname: string): string {
  return hostname.replace(/^(?:www|mcp|api)\.(?=.*\.)/, '');
}
