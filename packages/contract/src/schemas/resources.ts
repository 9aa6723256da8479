import * as z from 'zod';
import { ThvError } from '../failure.ts';
import { describeResource, readResource, resourceNames, resourceRules } from '../resources.ts';
import type { ResourceName } from '../resources.ts';

function limit(name: ResourceName) {
  const { summary, default: amount, min, max } = resourceRules[name];
  const range = `${describeResource(name, min)} to ${describeResource(name, max)}`;
  return z
    .union([z.string().max(50), z.number()])
    .superRefine((value, context) => {
      try {
        readResource(name, value);
      } catch (thrown) {
        if (!(thrown instanceof ThvError)) throw thrown;
        context.addIssue({ code: 'custom', message: `${thrown.message}; ${thrown.hint}` });
      }
    })
    .optional()
    .meta({
      description: `Limit on ${summary}: ${range}; ${describeResource(name, amount)} by default.`,
    });
}

const limits = Object.fromEntries(resourceNames.map((name) => [name, limit(name)])) as Record<
  ResourceName,
  ReturnType<typeof limit>
>; // one for each name

/** What the user allows a server to use. Sizes are numbers of bytes, or text such as `512m`. */
export const ResourceRequest = z.strictObject(limits).meta({
  id: 'ResourceRequest',
  description:
    'What a server may use of the machine. Sizes are numbers of bytes, or text with a unit of 1024: 512m, 2g, 1.5GiB.',
  examples: [{ memory: '512m', cpus: 1, pids: 100, disk: '1g', open_files: 1024 }],
});

const effective = Object.fromEntries(
  resourceNames.map((name) => [
    name,
    z.number().meta({ description: `Limit on ${resourceRules[name].summary}.` }),
  ]),
) as Record<ResourceName, z.ZodNumber>; // one for each name

/** The same in a run config. Keys of other versions pass through untouched, and limit nothing less. */
export const StoredResources = z.looseObject(limits);

/** What a server may use, in bytes, cores, and numbers of things. */
export const ResourceLimits = z.object(effective).meta({
  id: 'ResourceLimits',
  description: 'What a server may use of the machine. Sizes are in bytes.',
});
