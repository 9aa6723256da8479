import * as z from 'zod';

/** What a workload may be called: it also names files, containers and log lines. */
/** The server that finds and calls the tools of all other servers. */
export const metaServerName = 'meta-mcp';

/** Servers that are a part of the daemon. */
export const BuiltInServerName = z.enum([metaServerName]);
export type BuiltInServerName = z.infer<typeof BuiltInServerName>;

export const WorkloadName = z
  .string()
  .min(1, 'a workload needs a name')
  .max(100, 'a workload name has at most 100 characters')
  .regex(/^[a-zA-Z0-9._-]+$/, 'a workload name consists of letters, digits, dots, dashes and underscores')
  .refine((name) => !/^\.+$/.test(name) && !name.includes('..'), 'a workload name has no .. in it')
  .refine((name) => /^[a-zA-Z0-9]/.test(name), 'a workload name starts with a letter or a digit')
  .meta({ examples: ['filesystem'] });

/** What a group may be called. */
export const GroupName = z
  .string()
  .min(1, 'a group needs a name')
  .max(100, 'a group name has at most 100 characters')
  .regex(
    /^[a-z0-9_-]+( [a-z0-9_-]+)*$/,
    'a group name consists of lower-case letters, digits, dashes, underscores and single inner blanks',
  )
  .meta({ examples: ['research'] });

/** The group of every workload that names none. */
export const defaultGroup = 'default';

/** The one registry that there is. */
export const defaultRegistry = 'default';

/** Whether the session of a client has a conversation with the server of its own. */
export const sessionKinds = ['own', 'shared'] as const;

/** A TCP port. */
export const Port = z.int().min(1).max(65535);

/** A TCP port, or 0 for one that the daemon chooses. */
export const PortOrAny = z.int().min(0).max(65535);

const noNul = (text: string): boolean => !text.includes('\0');

/** One word of a command line. It holds no NUL, which no process could be given. */
export const Argument = z.string().refine(noNul, 'has a NUL character');

/** The name of an environment variable. */
export const VariableName = z
  .string()
  .regex(/^[A-Za-z_][A-Za-z0-9_.-]*$/, 'not a name for an environment variable')
  .max(256);

/** Environment variables by name. No value may hold a NUL, which no process could be given. */
export const Environment = z.record(VariableName, z.string().refine(noNul, 'has a NUL character'));
