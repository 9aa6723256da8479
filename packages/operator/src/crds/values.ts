import { Port } from '@toolhive/contract/names';
import * as z from 'zod';

/** A field with its description. */
export function say<T extends z.ZodType>(schema: T, description: string): T {
  return schema.meta({ ...schema.meta(), description });
}

/** A flag that is false by default. */
export const off = z.boolean().default(false);

/** Texts by a name. */
export const Texts = z.record(z.string(), z.string());

/** A TCP port as Kubernetes counts them. */
export const PortNumber = Port.meta({ format: 'int32' });

/** Which generation of a resource something is about. */
export const Generation = z.int().meta({ format: 'int64' });

/** A moment. Not checked further: only the operator writes them. */
export const Time = z.string().meta({ format: 'date-time' });

/** Another resource of the same namespace. */
export const Reference = z.object({ name: say(z.string(), 'Its name.') });

/** A variable with its value. */
export const Variable = z.object({
  name: say(z.string(), 'The name of the variable.'),
  value: say(z.string(), 'The value of the variable.'),
});

/** A condition, as all of Kubernetes writes them. */
const Condition = z.object({
  type: say(
    z
      .string()
      .max(316)
      .regex(
        /^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$/,
      ),
    'The type of the condition.',
  ),
  status: say(z.enum(['True', 'False', 'Unknown']), 'The status of the condition.'),
  reason: say(
    z
      .string()
      .min(1)
      .max(1024)
      .regex(/^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$/),
    'The reason as one word, for programs.',
  ),
  message: say(z.string().max(32768), 'The reason as a sentence.'),
  lastTransitionTime: say(Time, 'The time of the last change.'),
  observedGeneration: say(
    Generation.min(0).meta({ format: 'int64' }),
    'The observed generation of the resource.',
  ).optional(),
});

/** The conditions of a resource, one per type. */
export const Conditions = z
  .array(Condition)
  .meta({ 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['type'] });

/** What a resource that others refer to tells about itself. */
export const ReferencedStatus = z.object({
  observedGeneration: say(Generation, 'The latest generation that the operator has processed.').optional(),
  conditions: say(Conditions, 'The latest observations.').optional(),
  configHash: say(z.string(), 'A hash of the spec.').optional(),
  referencingServers: say(
    z.array(z.string()),
    'The MCPServers that reference this resource. It cannot be deleted while any exist.',
  ).optional(),
});

/** How many pods there are. */
export const Replicas = z.int().min(0).max(100).meta({ format: 'int32' });
