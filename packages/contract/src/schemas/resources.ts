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
      description: `Limit on ${summary}: ${range}, ${describeResource(name, amount)} by default.`,
    });
}

const limits = Object.fromEntries(resourceNames.map((name) => [name, limit(name)])) as Record<
  ResourceName,
  ReturnType<typeof limit>
>; // one for each name

/** The resource limits in a request. Sizes are in bytes, or text such as `512m`. */
export const ResourceRequest = z.strictObject(limits).meta({
  id: 'ResourceRequest',
  description:
    'Resource limits for a server. Sizes are in bytes, or text with a binary unit: 512m, 2g, 1.5GiB.',
  examples: [{ memory: '512m', cpus: 1, pids: 100, disk: '1g', open_files: 1024 }],
});

const effective = Object.fromEntries(
  resourceNames.map((name) => [
    name,
    z.number().meta({ description: `Limit on ${resourceRules[name].summary}.` }),
  ]),
) as Record<ResourceName, z.ZodNumber>; // one for each name

/** The resource limits in a run config. Unknown keys of other versions are preserved. */
export const StoredResources = z.looseObject(limits);

/** The resource limits in bytes, cores, and counts. */
export const ResourceLimits = z.object(effective).meta({
  id: 'ResourceLimits',
  description: 'Resource limits for a server. Sizes are in bytes.',
});
